#include "session/train_elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include "gradwire/core/machine_threads.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/elastic/elastic_group.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/version.h"
#include "gradwire/wire/frame.h"
#include "launch/stop_request.h"
#include "record/checkpoint_directory.h"
#include "record/hash_text.h"
#include "record/machine.h"
#include "record/run_record.h"
#include "record/step_log.h"
#include "session/elastic_checkpoints.h"
#include "session/elastic_description.h"
#include "session/elastic_run.h"
#include "session/live_report.h"
#include "session/network_task.h"
#include "train/elastic_learner.h"
#include "train/model_files.h"

namespace gradwire::session {
namespace {

using record::Json;

// The settings that a resumed run must share.
Json same_configuration(const ElasticDescription& run) {
  Json configuration = to_json(run);
  const bool knows_end =
      train::parse_schedule(run.options.network.schedule).kind == train::Schedule::Kind::cosine;
  for (const char* name : {"version", "data", "evaluate_every", "checkpoint_every", "keep",
                           "members_least", "silence_ms", "wait_ms"}) {
    configuration.erase(name);
  }
  if (!knows_end) configuration.erase("steps");
  return configuration;
}

train::Task make_task(const ElasticDescription& run, std::shared_ptr<const data::Source> source,
                      std::optional<std::size_t> threads) {
  train::TaskOptions how = task_options(run.options, source->shape(), machine_threads());
  how.batch = run.global_batch / how.accumulate;
  if (threads) how.operation_threads = *threads;
  return train::Task(std::move(source), how);
}

// A founder's description: all defaults are filled in.
ElasticDescription describe(const TrainOptions& options, const std::string& method,
                            const ElasticTrainOptions& elastic, const data::Source& source) {
  ElasticDescription run{.method = parse_method(method).spec,
                         .options = options,
                         .data_checksum = record::hash_text(source.checksum()),
                         .members_least = elastic.members_least};
  if (elastic.silence_seconds) run.silence_ms = 1000 * *elastic.silence_seconds;
  if (elastic.wait_seconds) run.wait_ms = 1000 * *elastic.wait_seconds;
  const train::TaskOptions how = task_options(options, source.shape(), 1);
  run.global_batch = how.batch * how.accumulate *
                     options.workers.workers.value_or(options.workers.workers_default);
  run.options.network.learning_rate = how.learning_rate;
  return run;
}

void fill_in_lengths(ElasticDescription& run, const train::Task& task) {
  run.options.steps = steps_of(run.options, task);
  run.options.network.evaluate_every = evaluate_every_of(run.options, task, *run.options.steps);
  run.options.checkpoint_every =
      run.options.checkpoint_every.value_or(*run.options.network.evaluate_every);
}

ElasticOptions group_options(const TrainOptions& options, const ElasticTrainOptions& elastic) {
  return {.listen = elastic.listen,
          .address = elastic.address,
          .join = elastic.join,
          .security = launch::find_security(options.workers, launch::process_environment),
          .wait = std::chrono::seconds(elastic.wait_seconds.value_or(600)),
          .codec_threads = options.workers.codec_threads};
}

// Newcomers on one machine must not share a directory.
std::string newcomer_name(const std::string& method) {
  std::random_device random;
  return fmt::format("{}-member-{:08x}", method, random());
}

std::string model_hash(train::ElasticLearner& learner) {
  train::Model& model = learner.model();
  return record::hash_text(
      checksum(std::as_bytes(model.statistics()), checksum(std::as_bytes(model.values()), 0)));
}

// The settings, as a record has them.
Json configuration_of(const ElasticDescription& run, const train::Task& task) {
  Json configuration = to_json(run);
  configuration.update({{"data", task.source->name()},
                        {"batch", run.global_batch},
                        {"split", "by step"},
                        {"transport", "tcp, elastic"},
                        {"threads", task.options.operation_threads},
                        {"steps_per_epoch", task.steps_per_epoch()},
                        {"train_samples", task.source->size(data::Part::train)},
                        {"test_samples", task.source->size(data::Part::test)}});
  return configuration;
}

FinishedRun record_run(const ElasticDescription& run, const train::Task& task,
                       const std::filesystem::path& directory, train::ElasticLearner& learner,
                       ElasticRunResult& result) {
  train::write_model_files(directory / train::kModelFiles, learner.model(),
                           learner.model().statistics());
  Json configuration = configuration_of(run, task);
  configuration["resumed_from"] = result.steps.empty() ? 0 : result.steps.front().step - 1;
  FinishedRun finished{.directory = directory,
                       .record = {.method = run.method,
                                  .workers = result.members,
                                  .steps = result.steps.size(),
                                  .parameters = learner.model().values().size(),
                                  .final = learner.metrics(),
                                  .model_hash = model_hash(learner),
                                  .views = std::move(result.views),
                                  .configuration = std::move(configuration),
                                  .version = GRADWIRE_VERSION,
                                  .machine = record::describe_machine()},
                       .steps = std::move(result.steps)};
  if (!finished.steps.empty()) finished.record.final.loss = finished.steps.back().metrics.loss;
  record::add_totals(finished.steps, finished.record);
  record::write_run(directory / record::kRunFile, finished.record);
  return finished;
}

// Why an unfinished run has ended here, and what to do.
[[noreturn]] void tell_end(const ElasticRunResult& result, std::uint64_t steps,
                           const std::filesystem::path& checkpoints, bool joined) {
  const std::string where = fmt::format("after step {} of {}; the checkpoint is in {}",
                                        result.steps_done, steps, checkpoints.string());
  if (result.end.reason != membership::EndReason::left) {
    throw Error(fmt::format("{}, {}", result.end.text, where));
  }
  if (result.members > 1) {
    throw launch::Stopped(fmt::format(
        "left the run in order {}. The others train on: --join brings a process back", where));
  }
  const std::string how = joined
                              ? fmt::format(
                                    "found the run again with its settings and '--elastic --resume "
                                    "--checkpoint-to {}'",
                                    checkpoints.string())
                              : "give the same command with --resume";
  throw launch::Stopped(
      fmt::format("stopped {}. This was the last member. To continue, {}", where, how));
}

}  // namespace

FinishedRun run_elastic(const TrainOptions& options, const std::string& method,
                        const ElasticTrainOptions& elastic, const console::Console& console) {
  const bool joins = !elastic.join.empty();
  ElasticOptions group = group_options(options, elastic);
  ElasticDescription run;
  std::shared_ptr<const data::Source> source;
  if (joins) {
    run = parse_description(describe_run(group));
    if (!options.data.empty()) run.options.data = options.data;
    source = open_data(run.options);
    check_data(run, *source);
  } else {
    source = open_data(options);
    run = describe(options, method, elastic, *source);
  }
  const train::Task task = make_task(run, source, options.network.threads);
  if (!joins) fill_in_lengths(run, task);
  const std::uint64_t steps = *run.options.steps;

  const ParsedMethod parsed = parse_method(run.method);
  train::check_optimiser_fits(parsed.traits, parsed.spec, task.options.optimiser,
                              task.options.clip.has_value(), !task.options.regulariser.is_zero());
  train::set_operation_threads(task.options.operation_threads);
  train::ElasticLearner learner(
      task, {.steps = steps, .evaluate_every = *run.options.network.evaluate_every}, parsed.traits);

  TrainOptions named = run.options;
  named.out = options.out;
  const std::filesystem::path directory =
      output_directory(named, joins ? newcomer_name(run.method) : run.method);
  check_directory(directory, options);
  ElasticCheckpoints checkpoints(elastic.checkpoint_to.empty()
                                     ? directory / record::kCheckpoints
                                     : std::filesystem::path(elastic.checkpoint_to),
                                 same_configuration(run), run.options.network.keep);
  LiveReport live(console, run.method, steps, 1, static_cast<double>(run.global_batch));
  std::uint64_t resumed_from = 0;
  if (!joins && options.resume) {
    if (const auto found = checkpoints.newest()) {
      learner.load(found->state);
      resumed_from = found->step;
      record::remove_checkpoints_after(checkpoints.directory(), found->step);
      live.say(fmt::format("resumes after step {}{}", found->step,
                           found->is_settled ? ""
                                             : ", which is not settled: others may have replaced "
                                               "it, if they trained on"));
    }
  }
  prepare_directory(directory, options, resumed_from, same_configuration(run));
  write_start(directory,
              {.method = run.method,
               .parameters = learner.model().values().size(),
               .model_hash = {},
               .configuration = configuration_of(run, task),
               .version = {}},
              steps);

  group.description = to_bytes(run);
  group.global_batch = run.global_batch;
  group.members_least = run.members_least;
  group.silence = std::chrono::milliseconds(run.silence_ms);
  if (!elastic.wait_seconds) group.wait = std::chrono::milliseconds(run.wait_ms);
  group.topology = run.options.workers.topology();
  group.hosts = run.options.workers.hosts.is_automatic;
  group.seed = run.options.seed;
  std::optional<launch::StopRequest> stop;  // Ctrl-C ends a process that still waits to join
  ElasticRunResult result =
      run_elastic_member(learner, checkpoints,
                         {.method = run.method,
                          .steps = steps,
                          .checkpoint_every = run.options.checkpoint_every.value_or(0),
                          .directory = directory,
                          .group = group,
                          .on_member = [&] { stop.emplace(); },
                          .wants_stop = launch::StopRequest::is_made,
                          .say = [&](const std::string& text) { live.say(text); },
                          .on_report = [&](const Report& report) { live.show(report); }});
  if (!result.is_finished) tell_end(result, steps, checkpoints.directory(), joins);
  return record_run(run, task, directory, learner, result);
}

}  // namespace gradwire::session
