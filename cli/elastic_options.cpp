#include "cli/elastic_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "cli/options.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire::cli {
namespace {

constexpr std::size_t kMembersMax = 1024;
constexpr std::uint64_t kSecondsMax = 30 * 24 * 60 * 60;

constexpr std::array kOwn = {"--listen", "--address", "--members-least", "--wait",
                             "--checkpoint-to"};

// What a newcomer may say; everything else comes from the run.
constexpr std::array<std::string_view, 16> kOfNewcomers = {
    "--help",    "--join",   "--listen",        "--address",       "--secret", "--tls-cert",
    "--tls-key", "--tls-ca", "--wait",          "--checkpoint-to", "--out",    "--overwrite",
    "--threads", "--data",   "--codec-threads", "--json"};

// What has no meaning here.
constexpr std::array kNotElastic = {
    "--transport", "--server",           "--dedicated-server", "--interface", "--streams",
    "--split",     "--record-gradients", "--tensorboard",      "--balance",   "--grace"};

bool is_given(const CLI::App& app, const char* name) { return app.get_option(name)->count() > 0; }

}  // namespace

void add_elastic_options(CLI::App& app, ElasticArguments& arguments) {
  session::ElasticTrainOptions& options = arguments.options;
  const std::string group = "For runs whose members come and go";
  auto* elastic =
      app.add_flag("--elastic", arguments.is_elastic,
                   "Found a run that other processes can join. --batch times --workers samples are "
                   "used in each step, however many members there are")
          ->group(group);
  app.add_option("--join", options.join,
                 "Join a run, at the addresses of one or more members. All other settings come "
                 "from the run")
      ->delimiter(',')
      ->excludes(elastic)
      ->type_name("HOST:PORT")
      ->group(group);
  app.add_option("--listen", options.listen, "Where other members reach this process")
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--address", options.address,
                 "The address that other members are told, if it differs from --listen")
      ->type_name("HOST:PORT")
      ->group(group);
  app.add_option("--members-least", options.members_least,
                 "The run waits while it has fewer members")
      ->transform(whole_number(1, kMembersMax))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--wait", options.wait_seconds,
                 "How long it waits for members, and a newcomer for the run [600]")
      ->transform(whole_number(1, kSecondsMax))
      ->type_name("SECONDS")
      ->group(group);
  app.add_option("--checkpoint-to", options.checkpoint_to,
                 "The directory for this member's checkpoints. Any one of them resumes the run "
                 "[OUT/checkpoints]")
      ->type_name("DIR")
      ->group(group);
}

void check_elastic(const CLI::App& app, const session::TrainOptions& options,
                   const std::string& method, ElasticArguments& arguments) {
  if (!arguments.is_member()) {
    for (const char* name : kOwn) {
      if (is_given(app, name))
        throw UsageError(fmt::format("{} is for --elastic and --join", name));
    }
    return;
  }
  for (const char* name : kNotElastic) {
    if (is_given(app, name)) {
      throw UsageError(fmt::format("{} is not for runs whose members come and go", name));
    }
  }
  if (!arguments.options.join.empty()) {
    for (const CLI::Option* option : app.get_options()) {
      const std::string name = option->get_name();
      if (option->count() == 0 || std::ranges::find(kOfNewcomers, name) != kOfNewcomers.end()) {
        continue;
      }
      throw UsageError(fmt::format("--join takes the settings from the run: leave out {}", name));
    }
    return;
  }
  if (const HostChoice& hosts = options.workers.hosts; !hosts.is_automatic && hosts.count > 0) {
    throw UsageError(
        "members come and go, so that their hosts have no fixed number: take --hosts auto or off");
  }
  if (is_given(app, "--deadline")) {
    arguments.options.silence_seconds = options.workers.deadline_seconds;
  }
  if (options.is_convex()) {
    throw UsageError(options.model + " has no --elastic: it is for networks");
  }
  const ParsedMethod parsed = parse_method(method);
  if (parsed.traits.output == MethodTraits::Output::model) {
    throw UsageError(
        fmt::format("{} cannot be used by train while members come and go: its members average "
                    "gradients in every step. gradwire.join in Python takes it",
                    parsed.spec));
  }
  if (!parsed.make_repeatable) {
    throw UsageError(
        fmt::format("{} cannot be used while members come and go: {}. docs/elastic.md lists the "
                    "methods that can",
                    parsed.spec, parsed.why_not_repeatable));
  }
}

}  // namespace gradwire::cli
