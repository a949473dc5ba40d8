#include "cli/train_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/launch.h"
#include "cli/shell_word.h"
#include "cli/stop_request.h"
#include "cli/train_convex.h"
#include "cli/train_network.h"
#include "report/page.h"
#include "report/read_runs.h"

namespace gradwire::cli {
namespace {

std::string how_to_go_on(std::vector<std::string> arguments) {
  std::erase(arguments, "--overwrite");
  if (std::ranges::find(arguments, "--resume") == arguments.end()) arguments.push_back("--resume");
  std::string call = "gradwire";
  for (const std::string& argument : arguments) call += " " + shell_word(argument);
  return call;
}

}  // namespace

std::vector<FinishedRun> run_plans(const TrainOptions& options, std::span<const RunPlan> plans,
                                   const WorkerPlace& place,
                                   const std::vector<std::string>& arguments,
                                   const Console& console) {
  // Convex runs have no checkpoint unless one is asked for: Ctrl-C ends them as usual.
  std::optional<StopRequest> stop;
  if (!options.is_convex()) stop.emplace();
  for (const RunPlan& plan : plans) check_directory(plan.directory, options);
  if (place.role == Role::starter) {
    launch_workers(
        {.arguments = arguments, .workers = place.size, .wants_stop = StopRequest::is_made});
    return {};
  }
  try {
    auto runs = options.is_convex() ? run_convex(options, plans, place, console)
                                    : run_network(options, plans, place, console);
    return place.reports() ? std::move(runs) : std::vector<FinishedRun>();
  } catch (const Stopped& stopped) {
    if (!place.reports()) throw Stopped("");
    throw Stopped(fmt::format("{}. Go on with\n  {}", stopped.what(), how_to_go_on(arguments)));
  }
}

std::filesystem::path write_page(const std::filesystem::path& directory) {
  const std::filesystem::path page = directory / report::kPageFile;
  report::write_page(page, report::read_runs({directory}));
  return page;
}

}  // namespace gradwire::cli
