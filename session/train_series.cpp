#include "session/train_series.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "gradwire/collective/host_groups.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/version.h"
#include "launch/stop_request.h"
#include "launch/workers.h"
#include "record/event_file.h"
#include "record/machine.h"
#include "record/prediction.h"
#include "record/run_record.h"
#include "record/step_log.h"
#include "record/step_scalars.h"
#include "session/finished_runs.h"
#include "session/live_report.h"

namespace gradwire::session {
namespace {

// The rates of the workers' links, where they were given.
void add_links(const TrainOptions& options, record::Json& configuration) {
  const std::vector<double>& links = options.workers.link_bits_per_second;
  if (!links.empty()) configuration["link_bits_per_second"] = links;
}

// Rank 0 writes down what is known of a run when it begins, for those who watch it.
void record_start(const Report& report, const RunOptions& run, const std::string& method,
                  const TrainOptions& options, const launch::Placement& placement) {
  record::Json configuration = run.configuration;
  configuration["data"] = std::filesystem::path(options.data_or_usual()).filename().string();
  configuration["topology"] = options.workers.topology_name;
  configuration["transport"] = placement.transport->name;
  add_links(options, configuration);
  write_start(run.directory,
              {.method = method,
               .workers = placement.size,
               .parameters = report.parameters,
               .model_hash = {},
               .configuration = std::move(configuration),
               .version = {}},
              run.steps);
}

// Rank 0 writes down a run that is finished.
FinishedRun record_run(Communicator& communicator, Trained trained, const RunOptions& run,
                       const TrainOptions& options, const launch::Placement& placement) {
  RunResult& result = trained.result;
  record::Json configuration = run.configuration;
  configuration.update(trained.facts);
  configuration["topology"] = name(result.topology);
  configuration["transport"] = placement.transport->name;
  if (HostGroups* const hosts = communicator.hosts()) configuration["hosts"] = hosts->text();
  configuration["resumed_from"] = result.resumed_from;
  add_links(options, configuration);
  FinishedRun finished{.directory = run.directory,
                       .record = {.method = result.method,
                                  .workers = placement.size,
                                  .steps = run.steps,
                                  .parameters = result.parameters,
                                  .start = result.start,
                                  .final = result.final,
                                  .model_hash = result.model_hash,
                                  .configuration = std::move(configuration),
                                  .version = GRADWIRE_VERSION,
                                  .machine = record::describe_machine()},
                       .steps = std::move(result.steps)};
  record::add_totals(finished.steps, finished.record);
  record::write_run(run.directory / record::kRunFile, finished.record);
  return finished;
}

}  // namespace

std::vector<FinishedRun> run_series(const Trainer& trainer, const TrainOptions& options,
                                    std::span<const RunPlan> plans,
                                    const launch::Placement& placement,
                                    const console::Console& console) {
  std::vector<FinishedRun> runs;
  std::string stopped;  // rank 0's message
  std::atomic<bool> is_stopped = false;

  // Whether the run was finished, now or earlier.
  const auto finish = [&](Communicator& communicator, const RunPlan& plan) {
    RunOptions run = trainer.run_options(plan);
    if (options.resume &&
        take_finished(communicator, plan.directory, run.configuration, run.steps, runs)) {
      return true;
    }
    LiveReport live(console, plan.method, run.steps, placement.size, trainer.samples_per_step());
    run.directory = plan.directory;
    run.checkpoints_kept = options.network.keep;
    run.resume = options.resume;
    run.wants_stop = launch::StopRequest::is_made;
    std::optional<record::EventFile> events;
    run.on_ready = [&](std::uint64_t resumed_from) {
      prepare_directory(plan.directory, options, resumed_from, run.configuration);
      if (!plan.tensorboard.empty()) events.emplace(plan.tensorboard, resumed_from + 1);
    };
    bool is_started = false;
    run.on_report = [&](const Report& report) {
      live.show(report);
      if (!std::exchange(is_started, true)) {
        record_start(report, run, parse_method(plan.method).spec, options, placement);
      }
      if (events) {
        const double ring_bytes = record::ring_bytes(report.parameters, placement.size);
        record::write_scalars(report.steps, ring_bytes, *events);
      }
    };
    Trained trained = trainer.train(communicator, plan, run);
    const std::uint64_t steps_done = trained.result.steps_done;
    const bool is_first = communicator.rank() == 0;
    if (steps_done < run.steps) {
      if (is_first) {
        stopped = fmt::format("stopped after step {} of {}; the checkpoint is in {}", steps_done,
                              run.steps, plan.directory.string());
      }
      return false;
    }
    if (is_first) {
      runs.push_back(record_run(communicator, std::move(trained), run, options, placement));
    }
    return true;
  };

  launch::run_workers(options.workers, placement, options.seed, [&](Communicator& communicator) {
    if (plans.size() > 1) {  // none is done in vain because another one cannot be
      for (const RunPlan& plan : plans) trainer.check(communicator, plan);
    }
    for (const RunPlan& plan : plans) {
      if (finish(communicator, plan)) continue;
      is_stopped = true;
      return;
    }
  });
  if (is_stopped) throw launch::Stopped(stopped);
  return runs;
}

}  // namespace gradwire::session
