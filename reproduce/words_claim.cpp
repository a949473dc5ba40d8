// L-GreCo where layers differ: a transformer on words, whose embedding holds most of it. Its plans
// against the usual share for all layers, and against the cheapest such share that is as good. A
// run takes hours; a stopped reproduction resumes.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "console/format.h"
#include "gradwire/core/error.h"
#include "reproduce/claims.h"
#include "reproduce/run_means.h"

namespace gradwire::reproduce {
namespace {

constexpr std::array kUniform = {"ef(topk(1%))", "ef(topk(0.5%))", "ef(topk(0.2%))",
                                 "ef(topk(0.1%))"};
constexpr std::array kPlanned = {"lgreco(topk)", "lgreco(topk, error=norms)",
                                 "lgreco(topk, error=squares)"};

constexpr double kPerplexityMore = 0.01;  // that counts as the same
constexpr double kTimesFewer = 4;         // than the usual share; published: up to 5
constexpr double kTimesFewerThanBest = 1.5;

using Runs = std::vector<session::FinishedRun>;  // one for each seed

struct Setting {
  std::string data;
  double epochs = 0;
  std::uint64_t seeds = 0;
};

Setting setting_of(const Workbench& bench) {
  if (bench.is_quick()) return {.data = "generated-text", .epochs = 1, .seeds = 1};
  const auto path = bench.data_directory() / "wikitext-2";
  if (std::filesystem::exists(path)) return {.data = path.string(), .epochs = 3, .seeds = 3};
  throw Error(
      "this needs WikiText-2: give --data-dir with a directory wikitext-2 that has train.txt "
      "and test.txt");
}

session::TrainOptions options_of(const Setting& setting, std::uint64_t seed) {
  session::TrainOptions options;
  options.model = "transformer(layers=2, heads=2, width=64)";
  options.data = setting.data;
  options.workers.workers = 4;
  options.seed = seed;
  options.network.epochs = setting.epochs;
  options.network.learning_rate = 0.5;
  options.network.optimiser = "sgd(momentum=0.9)";
  options.network.schedule = "cosine";
  options.network.context = 64;
  options.network.words = true;
  return options;
}

Spread perplexity_of(const Runs& runs) {
  std::vector<double> figures;
  for (const session::FinishedRun& run : runs) {
    figures.push_back(std::exp(run.record.final.test_loss.value_or(std::nan(""))));
  }
  return spread_of(figures);
}

// The larger end of one, within the smaller end of the other.
bool is_as_good(const Runs& runs, const Runs& than) {
  const Spread perplexity = perplexity_of(runs);
  return perplexity.mean + perplexity.error <= perplexity_of(than).mean * (1 + kPerplexityMore);
}

ClaimRow bytes_row(const char* method, const Runs& runs, const Runs& usual) {
  const double times = mean_megabytes(usual) / mean_megabytes(runs);
  return {.what = fmt::format("{}: {} times fewer bytes than {} at a perplexity within 1%", method,
                              kTimesFewer, kUniform[0]),
          .published = "up to 5 times, at full accuracy",
          .measured =
              fmt::format("{} times; perplexity {} instead of {}", console::significant(times, 3),
                          console::significant(perplexity_of(runs).mean, 4),
                          console::significant(perplexity_of(usual).mean, 4)),
          .holds = times >= kTimesFewer && is_as_good(runs, usual)};
}

ClaimRow best_row(const char* method, const Runs& runs,
                  const std::array<Runs, kUniform.size()>& uniform) {
  std::size_t best = 0;  // the last one that is as good as the plans
  for (std::size_t i = 1; i < uniform.size(); ++i) {
    if (is_as_good(uniform[i], runs)) best = i;
  }
  const double times = mean_megabytes(uniform[best]) / mean_megabytes(runs);
  return {.what = fmt::format("{}: {} times fewer bytes than the cheapest uniform share with its "
                              "perplexity",
                              method, kTimesFewerThanBest),
          .published = "not compared",
          .measured =
              fmt::format("{} times fewer than {}", console::significant(times, 3), kUniform[best]),
          .holds = times >= kTimesFewerThanBest};
}

}  // namespace

Claim reproduce_words(Workbench& bench) {
  const Setting setting = setting_of(bench);
  bench.expect(0, setting.seeds * (kUniform.size() + kPlanned.size()));
  std::array<Runs, kUniform.size()> uniform;
  std::array<Runs, kPlanned.size()> planned;
  for (std::uint64_t seed = 1; seed <= setting.seeds; ++seed) {
    const auto train = [&](const char* method) {
      return bench.train(fmt::format("{}-seed{}", session::safe_name(method), seed),
                         options_of(setting, seed), method);
    };
    for (std::size_t i = 0; i < uniform.size(); ++i) uniform[i].push_back(train(kUniform[i]));
    for (std::size_t i = 0; i < planned.size(); ++i) planned[i].push_back(train(kPlanned[i]));
  }
  Claim claim{.name = "words",
              .title = "L-GreCo where layers differ: a transformer on words",
              .rows = {},
              .tables = {{.title = "Perplexity and bytes",
                          .header = {"method", "test perplexity", "MB sent per worker"},
                          .rows = {}}},
              .pictures = {},
              .setting = fmt::format("transformer of 2 layers and width 64 on words of {}, 4 "
                                     "workers, {} epochs, {}; candidates within 0.1..10 of 1%.",
                                     setting.data, setting.epochs, seeds_text(uniform[0]))};
  const auto add = [&](const char* method, const Runs& runs) {
    claim.tables[0].rows.push_back({method, console::significant(perplexity_of(runs).mean, 4),
                                    console::significant(mean_megabytes(runs), 3)});
  };
  for (std::size_t i = 0; i < uniform.size(); ++i) add(kUniform[i], uniform[i]);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    add(kPlanned[i], planned[i]);
    claim.rows.push_back(bytes_row(kPlanned[i], planned[i], uniform[0]));
    claim.rows.push_back(best_row(kPlanned[i], planned[i], uniform));
  }
  return claim;
}

}  // namespace gradwire::reproduce
