// gradwire doctor: can the hosts of a run reach each other, at what rate, and do they fit together?
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "advise/advice.h"
#include "bench/links.h"
#include "cli/commands.h"
#include "cli/given_arguments.h"
#include "cli/host_options.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/worker_options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/table.h"
#include "data/source.h"
#include "gradwire/collective/all_gather.h"
#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/version.h"
#include "launch/exit_codes.h"
#include "launch/launch.h"
#include "launch/stop_request.h"
#include "session/rank/disk.h"

namespace gradwire::cli {
namespace {

using console::Json;

constexpr double kClockSecondsMax = 1;
constexpr std::size_t kFactBytesMax = 1 << 16;

struct DoctorCommand {
  HostArguments hosts;
  launch::WorkerOptions workers;
  std::string data;
  bool json = false;
};

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// "60,000 samples, checksum 8f..", or why there are none.
Json describe_data(const std::string& data) {
  if (data.empty()) return {};
  try {
    const auto source = data::open_source(data, {});
    return {{"samples", source->size(data::Part::train)}, {"checksum", source->checksum()}};
  } catch (const Error& error) {
    return {{"problem", error.what()}};
  }
}

std::string host_name() {
  utsname name{};
  uname(&name);
  return name.nodename;
}

Json own_facts(const DoctorCommand& command, const std::vector<bench::Link>& links) {
  double load = 0;
  getloadavg(&load, 1);
  Json list = Json::array();
  for (const bench::Link& link : links) {
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"bits_per_second", link.bits_per_second},
                    {"latency_ms", 1e3 * link.latency_seconds}});
  }
  return {{"host", host_name()},
          {"cores", machine_threads()},
          {"load", load},
          {"directory", std::filesystem::current_path().string()},
          {"data", describe_data(command.data)},
          {"links", list}};
}

// What all ranks found out, on rank 0.
Json examine(const DoctorCommand& command, const launch::Placement& placement) {
  auto transport = placement.transport->open(placement, command.workers)(placement.rank);
  const auto links = bench::measure_links(*transport, command.workers.peer_timeout());
  Communicator communicator(std::move(transport),
                            {.run = 0, .peer_timeout = command.workers.peer_timeout()});
  Json own = own_facts(command, links);
  own["address"] = communicator.address(communicator.rank());
  own["leads_disk"] = session::leads_disk(communicator, std::filesystem::current_path());
  communicator.barrier();
  own["clock"] = wall_clock();  // right behind a barrier: at almost the same time everywhere
  const std::string text = own.dump();
  AllGather board(communicator, {.name = "facts", .bytes_max = kFactBytesMax});
  board.run({.own = std::as_bytes(std::span(text))});
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
    const auto bytes = board.from(rank);
    const auto* const begin = reinterpret_cast<const char*>(bytes.data());
    ranks.push_back(Json::parse(begin, begin + bytes.size()));
  }
  communicator.close();
  return ranks;
}

// Findings as sentences: problems first, then facts.
struct Findings {
  std::vector<std::string> problems;
  std::vector<std::string> facts;
};

void judge_clocks(const Json& ranks, Findings& findings) {
  double least = 0, most = 0;
  for (const Json& rank : ranks) {
    const double offset = rank["clock"].get<double>() - ranks[0]["clock"].get<double>();
    least = std::min(least, offset);
    most = std::max(most, offset);
  }
  if (most - least > kClockSecondsMax) {
    findings.problems.push_back(fmt::format(
        "The clocks differ by {:.1f} s. Training does not depend on clocks, but log lines and "
        "certificates do: set up NTP (apt-get install chrony).",
        most - least));
  } else {
    findings.facts.push_back(fmt::format("The clocks agree within {:.0f} ms.",
                                         std::max(1.0, std::ceil(1e3 * (most - least)))));
  }
}

void judge_data(const Json& ranks, const std::string& data, Findings& findings) {
  if (data.empty()) return;
  bool is_fine = true;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Json& own = ranks[i]["data"];
    if (own.contains("problem")) {
      findings.problems.push_back(fmt::format("Rank {} ({}) cannot read the data: {}", i,
                                              ranks[i]["host"].get<std::string>(),
                                              own["problem"].get<std::string>()));
      is_fine = false;
    } else if (!ranks[0]["data"].contains("problem") && own != ranks[0]["data"]) {
      findings.problems.push_back(
          fmt::format("Rank {} ({}) has other data than rank 0: copy {} from rank 0's host.", i,
                      ranks[i]["host"].get<std::string>(), data));
      is_fine = false;
    }
  }
  if (is_fine) {
    findings.facts.push_back(fmt::format("All ranks have the same {}: {} samples.", data,
                                         console::thousands(ranks[0]["data"]["samples"])));
  }
}

void judge_load(const Json& ranks, Findings& findings) {
  std::set<std::string> seen;
  for (const Json& rank : ranks) {
    const std::string host = rank["host"];
    if (!seen.insert(host).second) continue;
    if (rank["load"].get<double>() > 0.5 * rank["cores"].get<double>() + 0.5) {
      findings.problems.push_back(
          fmt::format("{} is busy: its load is {:.1f} with {} cores. Stop other programs there, or "
                      "expect lower rates and longer steps.",
                      host, rank["load"].get<double>(), rank["cores"].get<std::size_t>()));
    }
  }
}

void judge_disks(const Json& ranks, Findings& findings) {
  const auto disks =
      std::ranges::count_if(ranks, [](const Json& rank) { return rank["leads_disk"].get<bool>(); });
  const std::string directory = ranks[0]["directory"];
  findings.facts.push_back(
      disks == 1 ? fmt::format("All ranks share the directory {}.", directory)
                 : fmt::format("{} is on {} disks: every host keeps its own checkpoints, and rank "
                               "0's host has the results.",
                               directory, disks));
}

struct Extremes {
  const Json* slowest = nullptr;
  const Json* fastest = nullptr;
  double latency_ms_max = 0;
};

Extremes extremes_of(const Json& ranks) {
  Extremes found;
  for (const Json& rank : ranks) {
    for (const Json& link : rank["links"]) {
      const double rate = link["bits_per_second"];
      if (!found.slowest || rate < (*found.slowest)["bits_per_second"]) found.slowest = &link;
      if (!found.fastest || rate > (*found.fastest)["bits_per_second"]) found.fastest = &link;
      found.latency_ms_max = std::max(found.latency_ms_max, link["latency_ms"].get<double>());
    }
  }
  return found;
}

void judge_links(const Json& ranks, Findings& findings) {
  const Extremes links = extremes_of(ranks);
  if (links.slowest == nullptr) return;
  constexpr double kUneven = 2;
  const double slowest = (*links.slowest)["bits_per_second"];
  if ((*links.fastest)["bits_per_second"] > kUneven * slowest) {
    findings.problems.push_back(fmt::format(
        "The link from rank {} to rank {} has {}, less than half of the fastest. The slowest link "
        "sets the pace: check its cable and switch port, or pick another interface with "
        "--interface.",
        (*links.slowest)["from"].get<std::size_t>(), (*links.slowest)["to"].get<std::size_t>(),
        advise::rate_text(slowest)));
  }
}

Findings judge(const Json& ranks, const DoctorCommand& command) {
  Findings findings;
  judge_links(ranks, findings);
  judge_data(ranks, command.data, findings);
  judge_load(ranks, findings);
  judge_clocks(ranks, findings);
  judge_disks(ranks, findings);
  findings.facts.push_back(fmt::format("All ranks run gradwire {}.", GRADWIRE_VERSION));
  findings.facts.push_back(
      launch::find_security(command.workers, launch::process_environment).is_encrypted()
          ? "Connections are encrypted (TLS 1.3), and all ranks accept each other's secret."
          : "Connections are not encrypted. On a network that you do not trust, use --secret: "
            "'gradwire secret --help'.");
  return findings;
}

std::string rank_table(const Json& ranks, std::size_t columns_max) {
  console::Table table({{.heading = "rank"},
                        {.heading = "host", .align = console::Table::Align::left},
                        {.heading = "address", .align = console::Table::Align::left},
                        {.heading = "cores"},
                        {.heading = "load"},
                        {.heading = "sends at least", .align = console::Table::Align::right},
                        {.heading = "latency at most"}});
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Json& rank = ranks[i];
    double rate = 0, latency = 0;
    for (const Json& link : rank["links"]) {
      const double own = link["bits_per_second"];
      rate = rate == 0 ? own : std::min(rate, own);
      latency = std::max(latency, link["latency_ms"].get<double>());
    }
    const std::string address = rank["address"];
    table.add_row({std::to_string(i), rank["host"], address.substr(0, address.find(' ')),
                   std::to_string(rank["cores"].get<std::size_t>()),
                   console::fixed(rank["load"], 1), rate == 0 ? "-" : advise::rate_text(rate),
                   console::fixed(latency, 2) + " ms"});
  }
  return table.text(columns_max);
}

void report(const Json& ranks, const DoctorCommand& command, const console::Console& console) {
  const Findings findings = judge(ranks, command);
  if (command.json) {
    console::print_json(
        {{"ranks", ranks}, {"problems", findings.problems}, {"facts", findings.facts}}, console);
  } else {
    fmt::print(console.out, "{}\n", rank_table(ranks, console.columns));
    for (const std::string& problem : findings.problems) {
      fmt::print(console.out, "PROBLEM  {}\n", problem);
    }
    for (const std::string& fact : findings.facts) fmt::print(console.out, "ok       {}\n", fact);
    const Extremes links = extremes_of(ranks);
    if (links.slowest != nullptr) {
      const double rate = (*links.slowest)["bits_per_second"];
      fmt::print(console.out,
                 "\nWhich method suits these links:\n"
                 "  gradwire advise --model cnn --workers {} --bandwidth {:.0f}Mbit --latency-ms "
                 "{:.2f}\n",
                 ranks.size(), std::max(1.0, 1e-6 * rate), links.latency_ms_max);
    }
  }
  console.out.flush();
  if (findings.problems.empty()) return;
  const bool is_started = launch::process_environment(launch::kWorkerVariable) != nullptr;
  throw ExitCode(is_started ? launch::kReported : kFailed);
}

// Over ssh, before any worker starts. Throws Error if a host cannot take part.
void check_hosts(const launch::HostsOptions& options, const console::Console& console) {
  fmt::print(console.err, "gradwire: asking {} host{} over ssh\n", options.hosts.size(),
             options.hosts.size() == 1 ? "" : "s");
  std::size_t failures = 0;
  for (const launch::HostAnswer& answer : launch::ask_hosts(options)) {
    std::string problem;
    if (!answer.is_reached) {
      problem = fmt::format("ssh fails: {}. Check that 'ssh {} true' works without a password",
                            answer.problem.empty() ? "no answer" : answer.problem, answer.host);
    } else if (!answer.has_directory) {
      problem = fmt::format(
          "the working directory {} is missing. Create it there, start in a directory that all "
          "hosts have, or give --chdir",
          options.directory.empty() ? std::filesystem::current_path().string() : options.directory);
    } else if (answer.version.empty()) {
      problem = fmt::format(
          "the program does not start: {}. Install gradwire there at the same "
          "path (docs/clusters.md), or give --program",
          answer.problem);
    } else if (answer.version != GRADWIRE_VERSION) {
      problem = fmt::format("it has version {}, and this host has {}: install the same version",
                            answer.version, GRADWIRE_VERSION);
    }
    if (problem.empty()) continue;
    ++failures;
    fmt::print(console.out, "PROBLEM  {}: {}.\n", answer.host, problem);
  }
  if (failures == 0) return;
  throw Error(fmt::format("{} of {} hosts cannot take part", failures, options.hosts.size()));
}

void run_over_ssh(const DoctorCommand& command, const console::Console& console) {
  launch::HostsOptions options = command.hosts.parsed();
  check_hosts(options, console);
  options.arguments = {"doctor"};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) options.arguments.insert(options.arguments.end(), {name, value});
  };
  add("--data", command.data);
  add("--interface", command.workers.interface);
  add("--secret", command.workers.security.secret_file);
  add("--tls-cert", command.workers.security.certificate_file);
  add("--tls-key", command.workers.security.key_file);
  add("--tls-ca", command.workers.security.authority_file);
  add("--deadline", std::to_string(command.workers.deadline_seconds));
  if (command.json) options.arguments.push_back("--json");
  const launch::StopRequest stop;
  options.wants_stop = launch::StopRequest::is_made;
  launch::run_on_hosts(options);
}

void run(const DoctorCommand& command, const CLI::App& parsed, const console::Console& console) {
  if (!command.hosts.hosts.empty()) return run_over_ssh(command, console);
  const launch::Placement placement = launch::find_placement(command.workers);
  switch (placement.role) {
    case launch::Role::all_workers:
      throw UsageError(
          "doctor checks the hosts of a run: give them with -H host1,host2, or start it as you "
          "start training (srun gradwire doctor, mpirun gradwire doctor)");
    case launch::Role::starter:
      launch::launch_workers({.arguments = given_arguments(parsed), .workers = placement.size});
      return;
    case launch::Role::one_worker:
      break;
  }
  const Json ranks = examine(command, placement);
  if (placement.reports()) report(ranks, command, console);
}

}  // namespace

void add_doctor_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand(
      "doctor", "Check the hosts of a run: links, versions, data, clocks, encryption");
  auto command = std::make_shared<DoctorCommand>();
  add_host_options(*app, command->hosts);
  app->add_option("--data", command->data, "Also compare this data set on all hosts")
      ->type_name("D");
  add_worker_options(*app, command->workers);
  add_json_option(*app, command->json);
  app->footer(
      "Examples:\n"
      "  gradwire doctor -H host1,host2,host3,host4 --data fashion-mnist\n"
      "  srun gradwire doctor");
  app->callback([command, app, &console] { run(*command, *app, console); });
}

}  // namespace gradwire::cli
