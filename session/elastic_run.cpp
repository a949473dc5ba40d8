#include "session/elastic_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "gradwire/method/parsed_method.h"
#include "record/step_log.h"
#include "session/elastic_log.h"

namespace gradwire::session {
namespace {

using Clock = std::chrono::steady_clock;
using train::ElasticLearner;

constexpr std::chrono::milliseconds kWatchPeriod{100};
constexpr double kReportSeconds = 0.5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

class ElasticRun {
 public:
  ElasticRun(ElasticLearner& learner, ElasticCheckpoints& checkpoints,
             const ElasticRunOptions& options)
      : learner_(learner),
        checkpoints_(checkpoints),
        options_(options),
        log_(options.directory, learner.steps_done(),
             parse_method(options.method).traits.has_memory) {}

  ElasticRunResult run() {
    ElasticOptions group_options = options_.group;
    group_options.buffers = learner_.buffers();
    group_options.on_event = [this](const ElasticEvent& event) { note(event); };
    ElasticGroup group(learner_.tensors(), options_.method, group_options, callbacks());
    if (options_.on_member) options_.on_member();
    say("member " + short_id(group.self().id) + " listens on " + group.address());
    if (options_.group.join.empty()) {
      log_.note({.view = {.number = 1, .members = {group.self()}}});
    }
    committed_ = group.committed();
    log_.start(committed_, learner_.steps_done());
    reported_at_ = learner_.steps_done();
    {
      const std::jthread watcher([&](const std::stop_token& stop) { watch(stop, group); });
      while (const auto turn = group.next()) {
        if (learner_.next_work() == ElasticLearner::Work::none) break;
        if (!take_turn(group, *turn)) break;
        finish_turn(group);
      }
    }
    return finish(group);
  }

 private:
  // The watcher reads the learner's state when the group waits. All that changes it is in here.
  ElasticCallbacks callbacks() {
    return {.apply =
                [this](const ElasticUpdate& update) {
                  const std::scoped_lock lock(state_mutex_);
                  learner_.apply(update);
                  committed_ = update.step;
                  view_ = update.view;
                },
            .save =
                [this] {
                  const std::scoped_lock lock(state_mutex_);
                  return learner_.save();
                },
            .load =
                [this](std::span<const std::byte> bytes) {
                  const std::scoped_lock lock(state_mutex_);
                  learner_.load(bytes);
                },
            .hash = [this](std::uint64_t) { return learner_.hash(); }};
  }

  // False if it is over for this process.
  bool take_turn(ElasticGroup& group, const ElasticTurn& turn) {
    members_ = turn.members;
    return learner_.next_work() == ElasticLearner::Work::average ? average(group, turn)
                                                                 : step(group, turn);
  }

  bool average(ElasticGroup& group, const ElasticTurn& turn) {
    if (learner_.is_farewell()) group.leave();
    const auto report = group.average(learner_.compute_average(turn));
    if (!report) return false;
    const bool is_evaluated =
        learner_.next_work() != ElasticLearner::Work::average || learner_.is_farewell();
    log_.add_average(report->step, report->method.traffic,
                     is_evaluated ? learner_.metrics() : record::Metrics());
    if (is_evaluated) log_.flush();
    return true;
  }

  bool step(ElasticGroup& group, const ElasticTurn& turn) {
    const auto start = Clock::now();
    record::StepRecord record{.learning_rate = learner_.learning_rate()};
    const ElasticLearner::Computed computed = learner_.compute(turn);
    record.phases.compute_seconds = seconds_since(start);
    const auto report = group.step(
        learner_.gradients(), {.samples = computed.samples, .learning_rate = record.learning_rate});
    if (!report) return false;
    record::note_report(report->method, record);
    record.step = learner_.steps_done();
    record.seconds = seconds_since(start);
    if (computed.score.count > 0) {
      record.metrics.loss = computed.score.loss / static_cast<double>(computed.score.count);
    }
    members_ = report->members;
    record.attendance = {.view = view_,
                         .unix_ms = unix_ms(),
                         .members = report->members,
                         .attempts = report->attempts,
                         .epoch = learner_.last_used().epoch};
    for (const data::PositionRange& range : learner_.last_used().positions) {
      record.attendance->samples.push_back({range.first, range.end});
    }
    bytes_up_ += record.traffic.bytes_sent;
    log_.add_step(report->step, std::move(record));
    is_save_due_ = is_save_due_ || is_due(learner_.steps_done(), options_.checkpoint_every);
    return true;
  }

  void finish_turn(const ElasticGroup& group) {
    const bool is_between = learner_.next_work() != ElasticLearner::Work::average;
    {
      const std::scoped_lock lock(state_mutex_);
      // Nobody begins a turn before it has committed the one before it.
      checkpoints_.settle(group.committed() - 1);
      if (is_save_due_ && (is_between || learner_.is_farewell())) {
        save();
        is_save_due_ = false;
      }
    }
    for (const std::string& text : log_.take_changes()) say(text);
    if (is_between) report();
  }

  // With state_mutex_.
  void save() {
    checkpoints_.save(learner_.steps_done(), committed_, learner_.hash(), learner_.state());
  }

  void report() {
    const double seconds = seconds_since(reported_);
    if (!options_.on_report || seconds < kReportSeconds) return;
    const std::uint64_t steps = learner_.steps_done() - reported_at_;
    const double per_step = seconds / static_cast<double>(std::max<std::uint64_t>(steps, 1));
    const std::scoped_lock lock(talk_mutex_);
    options_.on_report(
        {.step = learner_.steps_done(),
         .parameters = learner_.model().values().size(),
         .loss = log_.steps().empty() ? std::nullopt : log_.steps().back().metrics.loss,
         .metrics = learner_.metrics(),
         .bytes_up = bytes_up_,
         .steps_per_second = static_cast<double>(steps) / seconds,
         .seconds_left = per_step * static_cast<double>(options_.steps - learner_.steps_done())});
    reported_ = Clock::now();
    reported_at_ = learner_.steps_done();
  }

  // On a thread of the group.
  void note(const ElasticEvent& event) {
    log_.note(event);
    if (event.kind == ElasticEvent::Kind::view) return;  // the trainer's thread says it
    if (event.kind == ElasticEvent::Kind::waiting) is_waiting_ = true;
    const std::scoped_lock lock(event_mutex_);
    texts_.push_back(event.text);
  }

  // A thread of its own: the trainer may be blocked for long while the group waits.
  void watch(const std::stop_token& stop, ElasticGroup& group) {
    bool is_leaving = false;
    while (!stop.stop_requested()) {
      if (!is_leaving && options_.wants_stop && options_.wants_stop()) {
        is_leaving = true;
        say("leaving the run");
        group.leave();
      }
      if (is_waiting_.exchange(false)) save_while_waiting();
      say_events();
      std::this_thread::sleep_for(kWatchPeriod);
    }
    say_events();
  }

  void save_while_waiting() {
    const std::scoped_lock lock(state_mutex_);
    if (learner_.steps_done() == 0 || checkpoints_.saved_step() == learner_.steps_done()) return;
    try {
      save();
    } catch (const Error& error) {
      say(std::string("no checkpoint could be written while waiting: ") + error.what());
    }
  }

  void say_events() {
    std::vector<std::string> texts;
    {
      const std::scoped_lock lock(event_mutex_);
      texts.swap(texts_);
    }
    for (const std::string& text : texts) say(text);
  }

  void say(const std::string& text) {
    const std::scoped_lock lock(talk_mutex_);
    if (options_.say) options_.say(text);
  }

  ElasticRunResult finish(ElasticGroup& group) {
    ElasticRunResult result{.is_finished = learner_.steps_done() == options_.steps,
                            .steps_done = learner_.steps_done(),
                            .members = members_};
    if (group.end()) result.end = *group.end();
    const bool is_saved = checkpoints_.saved_step() == learner_.steps_done();
    if (learner_.steps_done() > 0 && !is_saved) save();
    checkpoints_.settle(result.end.settled);
    log_.take_changes();
    log_.flush();
    result.steps = log_.take_steps();
    result.views = log_.views();
    return result;
  }

  ElasticLearner& learner_;
  ElasticCheckpoints& checkpoints_;
  const ElasticRunOptions& options_;
  ElasticLog log_;
  std::size_t members_ = 1;
  std::uint64_t bytes_up_ = 0;
  bool is_save_due_ = false;
  std::uint64_t reported_at_ = 0;
  Clock::time_point reported_ = Clock::now();

  std::mutex state_mutex_;       // of the learner's state, and of the checkpoints
  std::uint64_t committed_ = 0;  // the last turn, and its view
  std::uint64_t view_ = 0;
  std::atomic<bool> is_waiting_ = false;
  std::mutex event_mutex_;
  std::vector<std::string> texts_;
  std::mutex talk_mutex_;
};

}  // namespace

ElasticRunResult run_elastic_member(train::ElasticLearner& learner, ElasticCheckpoints& checkpoints,
                                    const ElasticRunOptions& options) {
  return ElasticRun(learner, checkpoints, options).run();
}

}  // namespace gradwire::session
