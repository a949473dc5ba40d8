// Tests of advise. What the clock says is never asserted: only what follows from it whatever it
// says.
#include <cmath>

#include "cli/test_program.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Names = std::vector<std::string>;

// advise on a small model, for a short time. Later arguments take the place of these.
Outcome advise(const Names& more) {
  Names arguments = {"advise", "--rounds", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return gradwire(arguments);
}

Names on_link(const std::string& rate, const std::string& workers, const Names& more) {
  Names arguments = {"--params", "20000", "--workers", workers, "--bandwidth", rate};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void expect_wrong_usage(const Names& arguments, std::string_view what) {
  const Outcome outcome = advise(arguments);
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, what)) << "expected: " << what << "\n" << outcome.err;
}

TEST(AdviseThreads, JsonHasThePlaceEveryMethodAndTheAdvice) {
  const Outcome outcome = advise(on_link(
      "1Gbit", "4", {"--json", "--methods", "natural", "--methods", "ef(topk(1%) | natural)"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json document = outcome.json();
  EXPECT_EQ(fields(document), (Names{"model",
                                     "elements",
                                     "tensors",
                                     "workers",
                                     "ranks_per_host",
                                     "bandwidth_bits_per_second",
                                     "latency_ms",
                                     "compute_ms",
                                     "host_workers",
                                     "cores",
                                     "socket_byte_ns",
                                     "input",
                                     "elements_measured",
                                     "optimiser",
                                     "noise",
                                     "groups",
                                     "baseline",
                                     "methods",
                                     "local_steps",
                                     "advice"}));
  EXPECT_TRUE(document["model"].is_null());
  EXPECT_TRUE(document["compute_ms"].is_null());
  EXPECT_EQ(document["elements"], 20000);
  EXPECT_EQ(document["bandwidth_bits_per_second"], 1e9);
  EXPECT_EQ(fields(document["baseline"]), (Names{"method", "topology", "step_ms", "exchange_ms"}));
  EXPECT_EQ(fields(document["advice"]),
            (Names{"compress", "method", "topology", "speedup", "gentler", "later", "text"}));

  // What all are compared with is there although nobody asked for it.
  ASSERT_EQ(document["methods"].size(), 3u);
  EXPECT_EQ(document["methods"][0]["method"], "none");
  EXPECT_EQ(document["methods"][1]["method"], "natural");
  for (const Json& method : document["methods"]) {
    EXPECT_EQ(fields(method),
              (Names{"method", "spec", "is_unbiased", "has_memory", "codec", "topologies"}));
    EXPECT_EQ(fields(method["codec"]),
              (Names{"measure_ns", "encode_ns", "decode_ns", "decode_add_ns", "bits_per_element"}));
    int best = 0;
    for (const Json& way : method["topologies"]) {
      EXPECT_EQ(fields(way),
                (Names{"topology", "step_ms", "exchange_ms", "speedup", "bytes_sent_per_worker",
                       "bytes_sent_by_server", "relative_error", "is_best"}));
      EXPECT_TRUE(way["step_ms"].is_null());
      EXPECT_GT(way["exchange_ms"], 0.0);
      best += way["is_best"] == true ? 1 : 0;
    }
    EXPECT_EQ(best, 1);
  }
  EXPECT_EQ(document["methods"][2]["has_memory"], true);
  EXPECT_EQ(document["methods"][2]["is_unbiased"], false);
}

TEST(AdviseThreads, MethodsAreJudgedOnTheTopologiesThatTheyRunOn) {
  const Outcome outcome =
      advise(on_link("1Gbit", "4",
                     {"--json", "--methods", "none", "--methods", "ef(topk(1%))", "--methods",
                      "ef(topk(1%), down=natural)", "--methods", "powersgd(rank=2)"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json methods = outcome.json()["methods"];
  const auto topologies = [&](std::size_t method) {
    Names names;
    for (const Json& way : methods[method]["topologies"]) names.push_back(way["topology"]);
    return names;
  };
  EXPECT_EQ(topologies(0), (Names{"scatter", "server", "gather", "ring"}));
  EXPECT_EQ(topologies(1), (Names{"scatter", "server", "gather"}));
  EXPECT_EQ(topologies(2), (Names{"scatter", "server"}));
  EXPECT_EQ(topologies(3), (Names{"scatter", "server", "gather", "ring"}));
}

TEST(AdviseThreads, BytesAndErrorsAreThoseOfTheCodec) {
  const Outcome outcome =
      advise(on_link("1Gbit", "2", {"--json", "--tensors", "1", "--methods", "qsgd(bits=8)"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json none = outcome.json()["methods"][0];
  const Json qsgd = outcome.json()["methods"][1];
  EXPECT_EQ(none["codec"]["bits_per_element"], 32.0);
  EXPECT_EQ(none["topologies"][0]["relative_error"], 0.0);
  EXPECT_NEAR(none["topologies"][0]["bytes_sent_per_worker"], 80'000.0, 1000);
  EXPECT_NEAR(qsgd["codec"]["bits_per_element"], 8.06, 0.05);
  EXPECT_NEAR(qsgd["topologies"][0]["bytes_sent_per_worker"], 20'150.0, 1000);
  EXPECT_GT(qsgd["topologies"][0]["relative_error"], 0.001);
  EXPECT_LT(qsgd["topologies"][0]["relative_error"], 0.1);
}

TEST(AdviseThreads, AdamWGetsUnbiasedGradientsAndAWordOnFewerBytes) {
  const Outcome outcome =
      advise(on_link("1kbit", "4", {"--json", "--compute-ms", "10", "--optimizer", "adamw"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json advice = outcome.json()["advice"];
  EXPECT_EQ(advice["method"], "natural | entropy");
  EXPECT_EQ(advice["later"], "adam(sign)");
  EXPECT_TRUE(contains(advice["text"].get<std::string>(), "For fewer bytes: after a warm-up, "));
}

TEST(AdviseThreads, BytesOfAServerAndOfAWorkerAreApart) {
  const Outcome outcome = advise(on_link("1Gbit", "5", {"--json", "--methods", "none"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  for (const Json& way : outcome.json()["methods"][0]["topologies"]) {
    const bool has_server = way["topology"] == "server";
    EXPECT_EQ(way["bytes_sent_by_server"].is_null(), !has_server);
    if (!has_server) continue;
    EXPECT_NEAR(way["bytes_sent_per_worker"], 80'000, 1000);
    EXPECT_NEAR(way["bytes_sent_by_server"], 4 * 80'000, 4000);
  }
}

// Whatever the processor: at 1 kbit/s bytes are all that counts.
TEST(AdviseThreads, OnAVerySlowLinkFewestBytesAreAdvised) {
  const Outcome outcome = advise(on_link("1kbit", "4", {"--json", "--compute-ms", "10"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json document = outcome.json();
  EXPECT_EQ(document["advice"]["compress"], true);
  EXPECT_EQ(document["advice"]["method"], "ef(topk(1%) | natural)");
  EXPECT_GT(document["advice"]["speedup"], 20.0);
  EXPECT_GT(document["baseline"]["step_ms"], document["compute_ms"]);
  EXPECT_TRUE(contains(document["advice"]["text"].get<std::string>(),
                       "Use ef(topk(1%) | natural) on the topology "));
}

TEST(AdviseThreads, RoundsOfLocalStepsHideTheExchange) {
  const Outcome slow = advise(on_link("1Mbit", "4", {"--json", "--compute-ms", "100"}));
  ASSERT_EQ(slow.exit_code, kDone) << slow.err;
  const Json rounds = slow.json()["local_steps"];
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_TRUE(rounds[0]["method"].get<std::string>().starts_with("local(none, every="));
  // 120 kB at 1 Mbit/s take 1 s, ten times as long as computing; 5% of a step may be left.
  EXPECT_GT(rounds[0]["every"], 150);
  EXPECT_LT(rounds[0]["every"], 300);
  EXPECT_LT(rounds[1]["every"], rounds[0]["every"]);
  const Outcome fast = advise(on_link("25Gbit", "4", {"--json", "--compute-ms", "3600000"}));
  EXPECT_TRUE(fast.json()["local_steps"].empty());
}

// Where computing takes an hour, no exchange matters.
TEST(AdviseThreads, WhereTheExchangeDoesNotMatterTheAdviceIsNotToCompress) {
  const Outcome outcome = advise(on_link("25Gbit", "4", {"--compute-ms", "3600000"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "Do not compress: use none on the topology ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\nnatural | entropy ")) << outcome.out;
  // Beside other work the command says so, and nothing else.
  EXPECT_TRUE(outcome.err.empty() || outcome.err.starts_with("gradwire: this machine is busy"))
      << outcome.err;
}

// Whatever it takes: what is more noise than gradient is not advised, nor is a bias that nobody
// makes up for.
TEST(AdviseThreads, WhatIsNotSoundIsNotAdvised) {
  const Outcome outcome = advise(
      on_link("1kbit", "4", {"--json", "--methods", "randk(0.1%)", "--methods", "topk(0.1%)"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["advice"]["compress"], false);
  EXPECT_EQ(outcome.json()["advice"]["method"], "none");
}

TEST(AdviseThreads, MeansThatStayExactCountAsFloats) {
  const Outcome outcome = advise(on_link("1Gbit", "4", {"--json", "--methods", "diana(natural)"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json scatter = outcome.json()["methods"][1]["topologies"][0];
  EXPECT_EQ(scatter["topology"], "scatter");
  EXPECT_NEAR(scatter["bytes_sent_per_worker"], 0.75 * 20'000 * (4 + 9.0 / 8), 2000);
}

TEST(Advise, OneWorkerHasNobodyToExchangeWith) {
  const Outcome outcome = advise(on_link("1Gbit", "1", {}));
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "Do not compress: one worker has nobody to exchange gradients with.\n");
  const Json document = advise(on_link("1Gbit", "1", {"--json"})).json();
  EXPECT_EQ(document["advice"]["compress"], false);
  EXPECT_EQ(document["methods"].size(), 0u);
}

TEST(AdviseThreads, HostsWithSeveralRanksSendAsManyBytesAsThatManyWorkers) {
  const auto bytes = [](const std::string& workers, Names more) {
    more.insert(more.end(), {"--json", "--methods", "natural"});
    const Outcome outcome = advise(on_link("1Gbit", workers, more));
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
    std::vector<double> sent;
    for (const Json& way : outcome.json()["methods"][1]["topologies"]) {
      sent.push_back(way["bytes_sent_per_worker"]);
    }
    return sent;
  };
  EXPECT_EQ(bytes("8", {"--ranks-per-host", "2"}), bytes("4", {}));
}

TEST(AdviseThreads, ManyWorkersAreNoTrouble) {
  const Outcome outcome =
      advise(on_link("10Gbit", "10000", {"--json", "--methods", "natural", "--latency-ms", "0"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json natural = outcome.json()["methods"][1];
  for (const Json& way : natural["topologies"]) {
    EXPECT_GT(way["exchange_ms"], 0.0);
    // By then a ring that rounds at every hop gives nothing but noise.
    EXPECT_FALSE(way["topology"] == "ring" && way["is_best"] == true);
  }
}

TEST(AdviseThreads, ModelGivesTheTensors) {
  const Outcome outcome = advise({"--json", "--model", "resnet20", "--workers", "2", "--bandwidth",
                                  "1e9", "--methods", "none", "--host-workers", "2"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["model"], "resnet20");
  EXPECT_GT(outcome.json()["elements"], 250'000);
  EXPECT_LT(outcome.json()["elements"], 300'000);
  EXPECT_EQ(outcome.json()["advice"]["method"], "none");
}

TEST(AdviseThreads, ValuesMayComeFromAFile) {
  const TestDirectory directory;
  const std::string path = directory / "gradient.f32";
  write_tensor(path, {.values = {1, 2, 4}});  // what natural codes without an error
  const Outcome outcome =
      advise(on_link("1Gbit", "2", {"--json", "--methods", "natural", "--input", path}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.json()["input"], path);
  EXPECT_EQ(outcome.json()["methods"][1]["topologies"][0]["relative_error"], 0.0);

  write_tensor(path, {.values = {1, std::nanf(""), 4}});
  const Outcome refused = advise(on_link("1Gbit", "2", {"--input", path}));
  EXPECT_EQ(refused.exit_code, kFailed);
  EXPECT_TRUE(contains(refused.err, "there is a NaN or an infinity among the values"))
      << refused.err;
}

TEST(Advise, RatesAreReadWithTheirUnits) {
  const auto rate = [](const std::string& text) {
    return advise(on_link(text, "1", {"--json"})).json()["bandwidth_bits_per_second"];
  };
  EXPECT_EQ(rate("100Mbit"), 1e8);
  EXPECT_EQ(rate("25gbit/s"), 25e9);
  EXPECT_EQ(rate("1Gbps"), 1e9);
  EXPECT_EQ(rate("2.5 Gbit"), 2.5e9);
  EXPECT_EQ(rate("1e9"), 1e9);
}

TEST(AdviseThreads, LinksOfDifferentRatesAreSharedAccordingly) {
  const auto step_of = [](const Names& more) {
    const Outcome outcome = advise(on_link("1Mbit,1Mbit,1Mbit,100kbit", "4", more));
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
    return outcome.json();
  };
  const Json document = step_of({"--json", "--methods", "none"});
  EXPECT_EQ(document["links_bits_per_second"], (Json{1e6, 1e6, 1e6, 1e5}));
  EXPECT_EQ(document["bandwidth_bits_per_second"], 1e5);
  EXPECT_FALSE(document.contains("switch_bits_per_second"));
  double scatter = 0;
  double ring = 0;
  for (const Json& way : document["methods"][0]["topologies"]) {
    if (way["topology"] == "scatter") scatter = way["exchange_ms"];
    if (way["topology"] == "ring") ring = way["exchange_ms"];
  }
  EXPECT_LT(scatter, 0.75 * ring);  // 2/3, where only the links count
  const Json behind = step_of({"--json", "--methods", "none", "--switch", "100kbit"});
  EXPECT_EQ(behind["switch_bits_per_second"], 1e5);
  EXPECT_GT(behind["baseline"]["exchange_ms"], document["baseline"]["exchange_ms"]);
}

TEST(AdviseThreads, TheCommandHasTheLinks) {
  const Outcome outcome = advise(on_link("1Mbit,1Mbit,100kbit", "3", {"--methods", "fp16"}));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, " --links 1Mbit,1Mbit,100kbit\n")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "The workers' links have 100 kbit/s to 1 Mbit/s each way"));
}

TEST(Advise, NonsenseIsWrongUsage) {
  const auto given = [](const Names& more) {
    Names arguments = {"--params", "1000", "--workers", "4", "--bandwidth", "1Gbit"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  expect_wrong_usage({"--workers", "4", "--bandwidth", "1Gbit"}, "give either --model or --params");
  expect_wrong_usage(given({"--model", "resnet20"}), "--model excludes --params");
  expect_wrong_usage({"--params", "1000", "--bandwidth", "1Gbit"}, "--workers is required");
  expect_wrong_usage({"--params", "1000", "--workers", "4"}, "--bandwidth is required");
  expect_wrong_usage(on_link("1Gbit", "0", {}), "'0' is not a whole number from 1 to 10000");
  expect_wrong_usage(on_link("1Gbit", "10001", {}), "is not a whole number from 1 to 10000");
  for (const char* rate : {"fast", "1 parsec", "-1Gbit", "0", "1e300", "nan"}) {
    expect_wrong_usage(on_link(rate, "4", {}), "--bandwidth: '" + std::string(rate) + "' is no");
  }
  expect_wrong_usage(on_link("1GB/s", "4", {}), "--bandwidth: '1GB/s' is in bytes");
  expect_wrong_usage(on_link("1Gbit", "6", {"--ranks-per-host", "4"}),
                     "6 workers do not fill two or more such hosts");
  expect_wrong_usage(on_link("1Gbit", "4", {"--ranks-per-host", "4"}), "two or more such hosts");
  expect_wrong_usage(on_link("1Gbit,1Gbit", "4", {}), "2 rates for 4 workers");
  expect_wrong_usage(on_link("1Gbit,fast,1Gbit", "3", {}), "--bandwidth: 'fast' is no");
  expect_wrong_usage(given({"--switch", "0"}), "--switch: '0' is no");
  expect_wrong_usage(given({"--latency-ms", "-1"}), "expected a number from 0 to 60000, not '-1'");
  expect_wrong_usage(given({"--latency-ms", "nan"}), "expected a number from 0");
  expect_wrong_usage(given({"--compute-ms", "-0.5"}), "expected a number from 0");
  expect_wrong_usage(given({"--host-workers", "5"}), "5 of 4 workers cannot share a machine");
  expect_wrong_usage(given({"--tensors", "1001"}), "1000 parameters do not make 1001 tensors");
  expect_wrong_usage(given({"--methods", "naturl"}), "did you mean 'natural'?");
  expect_wrong_usage({"--model", "resnet21", "--workers", "4", "--bandwidth", "1Gbit"},
                     "did you mean 'resnet20'?");
  expect_wrong_usage({"--model", "logistic", "--workers", "4", "--bandwidth", "1Gbit"},
                     "logistic is not a network");
  expect_wrong_usage(given({"--generate", "gaussian", "--input", "x.f32"}), "excludes");
}

}  // namespace
}  // namespace gradwire::cli
