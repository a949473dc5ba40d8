#include "reproduce/workbench.h"

#include <fmt/format.h>

#include <algorithm>

#include "console/format.h"
#include "console/live_line.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/file/file_failure.h"
#include "launch/stop_request.h"
#include "record/checkpoint_directory.h"
#include "record/json_file.h"
#include "session/train_convex.h"
#include "session/train_network.h"
#include "train/model_files.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

void make_directory(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) fail_file(directory, "cannot be made: " + failure.message());
}

// What a finished run does not need any more.
void remove_bulk(const std::filesystem::path& run) {
  std::error_code ignored;
  for (const char* name : {record::kCheckpoints, train::kModelFiles}) {
    std::filesystem::remove_all(run / name, ignored);
  }
}

std::vector<session::FinishedRun> run_or_go_on(const session::TrainOptions& options,
                                               const session::RunPlan& plan,
                                               const launch::Placement& placement,
                                               const console::Console& console) {
  const bool was_begun = std::filesystem::exists(plan.directory);
  try {
    return options.is_convex() ? session::run_convex(options, {&plan, 1}, placement, console)
                               : session::run_network(options, {&plan, 1}, placement, console);
  } catch (const FileError& error) {
    if (!was_begun) throw;
    throw FileError(fmt::format("{}; --fresh begins anew", error.what()));
  }
}

}  // namespace

double Workbench::Pieces::seconds_left() const {
  if (done == 0 || seen >= expected) return 0;
  return seconds / static_cast<double>(done) * static_cast<double>(expected - seen);
}

Workbench::Workbench(WorkbenchOptions options, const console::Console& console)
    : options_(std::move(options)), console_(console) {
  make_directory(trials_directory());
  make_directory(runs_directory());
}

std::filesystem::path Workbench::trials_directory() const {
  return options_.directory / (is_quick() ? "quick-trials" : "trials");
}

std::filesystem::path Workbench::runs_directory() const {
  return options_.directory / (is_quick() ? "quick-runs" : "runs");
}

void Workbench::expect(std::size_t trials, std::size_t runs) {
  trials_.expected = trials;
  runs_.expected = runs;
}

void Workbench::begin(const std::string& name) const {
  if (launch::StopRequest::is_made()) throw launch::Stopped("stopped before " + name);
  if (options_.is_kept_only) throw launch::Stopped(name + " was not measured");
  const std::size_t all = trials_.expected + runs_.expected;
  const std::size_t number = trials_.seen + runs_.seen + 1;
  // Nobody knows how long a kind takes of which none was done.
  const double left =
      trials_.is_known() && runs_.is_known() ? trials_.seconds_left() + runs_.seconds_left() : 0;
  say(fmt::format("{}: {} of {}: {}{}", options_.claim, number, std::max(all, number), name,
                  left > 0 ? fmt::format("; about {} left", console::duration_text(left)) : ""));
}

std::filesystem::path Workbench::trial_path(const std::string& name) const {
  return trials_directory() / (session::safe_name(name) + ".json");
}

bool Workbench::keeps_trial(const std::string& name) const {
  return std::filesystem::exists(trial_path(name));
}

Json Workbench::trial(const std::string& name, const std::function<Json()>& work) {
  const auto path = trial_path(name);
  if (keeps_trial(name)) {
    const Json kept = record::read_json_file(path);
    if (!kept.contains("result") || !kept.contains("seconds")) {
      fail_file(path, "is not a trial: remove it");
    }
    ++trials_.seen;
    seconds_ += kept["seconds"].get<double>();
    return kept["result"];
  }
  begin(name);
  double seconds = 0;
  Json result = [&] {
    const StopWatch watch(seconds);
    return work();
  }();
  ++trials_.seen;
  ++trials_.done;
  trials_.seconds += seconds;
  seconds_ += seconds;
  record::write_json_file(path, {{"seconds", seconds}, {"result", result}});
  return result;
}

session::FinishedRun Workbench::train(const std::string& name, session::TrainOptions options,
                                      const std::string& method) {
  session::check_options(options, {method});
  const session::RunPlan plan{method, runs_directory() / session::safe_name(name)};
  const bool is_kept = std::filesystem::exists(plan.directory / record::kRunFile);
  const launch::Placement placement{
      .size = options.workers.workers.value_or(options.workers.workers_default)};
  options.resume = true;
  if (!is_kept) begin(name);
  double seconds = 0;
  std::vector<session::FinishedRun> runs = [&] {
    const StopWatch watch(seconds);
    return run_or_go_on(options, plan, placement, console_);
  }();
  if (!is_kept) {
    ++runs_.done;
    runs_.seconds += seconds;
  }
  ++runs_.seen;
  remove_bulk(plan.directory);
  seconds_ += runs.front().record.seconds;
  return std::move(runs.front());
}

std::optional<session::FinishedRun> Workbench::train_if_possible(const std::string& name,
                                                                 session::TrainOptions options,
                                                                 const std::string& method) {
  try {
    return train(name, std::move(options), method);
  } catch (const launch::Stopped&) {
    ++runs_missing_;
    missing_ = fmt::format("{} of {} runs", runs_missing_, runs_.expected);
    return std::nullopt;
  }
}

void Workbench::for_each_seed(std::uint64_t seeds, const std::function<void(std::uint64_t)>& work) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    try {
      work(seed);
    } catch (const launch::Stopped&) {
      if (seed == 1) throw;
      missing_ = fmt::format("{} of {} seeds", seeds - seed + 1, seeds);
      lacks_seeds_ = true;
      return;
    }
  }
}

void Workbench::say(std::string_view line) const { console::LiveLine(console_).say(line); }

}  // namespace gradwire::reproduce
