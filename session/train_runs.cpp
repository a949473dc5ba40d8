#include "session/train_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "console/live_line.h"
#include "console/shell_word.h"
#include "launch/launch.h"
#include "launch/stop_request.h"
#include "report/page.h"
#include "report/read_runs.h"
#include "session/train_convex.h"
#include "session/train_network.h"

namespace gradwire::session {
namespace {

std::string command_to_resume(const launch::Placement& placement,
                              std::vector<std::string> arguments) {
  std::erase(arguments, "--overwrite");
  if (std::ranges::find(arguments, "--resume") == arguments.end()) arguments.push_back("--resume");
  std::string call = placement.call;
  for (const std::string& argument : arguments) call += " " + console::shell_word(argument);
  return call;
}

}  // namespace

std::vector<FinishedRun> run_plans(const TrainOptions& options, std::span<const RunPlan> plans,
                                   const launch::Placement& placement,
                                   const std::vector<std::string>& arguments,
                                   const console::Console& console) {
  const launch::StopRequest stop;
  for (const RunPlan& plan : plans) check_directory(plan.directory, options);
  if (placement.role == launch::Role::starter) {
    launch::launch_workers({.arguments = arguments,
                            .workers = placement.size,
                            .wants_stop = launch::StopRequest::is_made});
    return {};
  }
  // On a terminal: reading data and starting workers can take seconds. The first step replaces it.
  console::LiveLine waiting(console);
  if (placement.reports() && console.err_is_terminal) {
    waiting.show(fmt::format("{} on {}: starting {} worker{}", options.model,
                             options.data_or_usual(), placement.size,
                             placement.size == 1 ? "" : "s"));
  }
  try {
    auto runs = options.is_convex() ? run_convex(options, plans, placement, console)
                                    : run_network(options, plans, placement, console);
    return placement.reports() ? std::move(runs) : std::vector<FinishedRun>();
  } catch (const launch::Stopped& stopped) {
    if (!placement.reports()) throw launch::Stopped("");
    throw launch::Stopped(fmt::format("{}. Resume with\n  {}", stopped.what(),
                                      command_to_resume(placement, arguments)));
  }
}

std::filesystem::path write_page(const std::filesystem::path& directory) {
  const std::filesystem::path page = directory / report::kPageFile;
  report::write_page(page, report::read_runs({directory}));
  return page;
}

}  // namespace gradwire::session
