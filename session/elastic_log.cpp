#include "session/elastic_log.h"

#include <algorithm>

#include "record/hash_text.h"

namespace gradwire::session {
namespace {

constexpr std::size_t kTurnsKept = 64;  // an event is at most a few turns old when it is written

// How many lines of an earlier process stay: those up to the step, if they reach it.
std::uint64_t lines_kept(const std::filesystem::path& path, std::uint64_t step) {
  if (step == 0 || !std::filesystem::exists(path)) return 0;
  const std::vector<record::StepRecord> steps = record::read_steps(path);
  if (steps.empty() || steps.front().step > step || steps.back().step < step) return 0;
  return step - steps.front().step + 1;
}

std::string id_text(const membership::MemberId& id) {
  return record::hash_text(id.high) + record::hash_text(id.low);
}

}  // namespace

std::string short_id(const membership::MemberId& id) { return id_text(id).substr(0, 8); }

ElasticLog::ElasticLog(const std::filesystem::path& directory, std::uint64_t step, bool has_memory)
    : has_memory_(has_memory),
      step_writer_(directory / record::kStepsFile,
                   lines_kept(directory / record::kStepsFile, step)),
      view_writer_(directory / record::kViewsFile, step > 0),
      steps_(record::read_steps(directory / record::kStepsFile)),
      written_(steps_.size()),
      turns_{{0, step}} {}

void ElasticLog::note(const ElasticEvent& event) {
  if (event.kind != ElasticEvent::Kind::view) return;
  const std::scoped_lock lock(mutex_);
  noted_.push_back(event);
}

std::uint64_t ElasticLog::step_at(std::uint64_t turn) const {
  for (auto at = turns_.rbegin(); at != turns_.rend(); ++at) {
    if (at->first <= turn) return at->second;
  }
  return turns_.front().second;
}

void ElasticLog::add_step(std::uint64_t turn, record::StepRecord step) {
  flush();
  turns_.emplace_back(turn, step.step);
  if (turns_.size() > kTurnsKept) turns_.pop_front();
  steps_.push_back(std::move(step));
}

void ElasticLog::add_average(std::uint64_t turn, const Traffic& traffic,
                             const record::Metrics& metrics) {
  turns_.emplace_back(turn, turns_.back().second);
  if (turns_.size() > kTurnsKept) turns_.pop_front();
  if (written_ == steps_.size()) return;  // a newcomer has had no step yet
  record::StepRecord& step = steps_.back();
  step.traffic += traffic;
  if (metrics.test_loss) step.metrics.test_loss = metrics.test_loss;
  if (metrics.accuracy) step.metrics.accuracy = metrics.accuracy;
}

void ElasticLog::flush() {
  if (written_ == steps_.size()) return;
  step_writer_.write(std::span(steps_).subspan(written_));
  written_ = steps_.size();
}

std::vector<std::string> ElasticLog::take_changes() {
  std::vector<ElasticEvent> events;
  {
    const std::scoped_lock lock(mutex_);
    events.swap(noted_);
  }
  std::vector<std::string> texts;
  for (const ElasticEvent& event : events) {
    views_.push_back(describe(event));
    view_writer_.write(views_.back());
    texts.push_back(views_.back().text);
  }
  return texts;
}

record::ViewRecord ElasticLog::describe(const ElasticEvent& event) {
  record::ViewRecord view{.view = event.view.number,
                          .step = step_at(event.step),
                          .change_seconds = event.change_seconds.count()};
  const std::size_t count = event.view.members.size();
  view.text = "view " + std::to_string(view.view) + " of " + std::to_string(count) +
              (count == 1 ? " member" : " members") + " after step " + std::to_string(view.step);
  for (const membership::Member& member : event.view.members) {
    view.members.push_back({id_text(member.id), member.address});
    if (std::ranges::find(members_, member.id, &membership::Member::id) != members_.end()) continue;
    view.joined.push_back(id_text(member.id));
    if (!members_.empty()) view.text += "; " + short_id(member.id) + " joined";
  }
  for (const membership::Departed& departed : event.departed) {
    view.departed.push_back({id_text(departed.id), name(departed.why), has_memory_});
    view.text += "; " + short_id(departed.id) + " departed: " + name(departed.why);
  }
  members_ = event.view.members;
  return view;
}

record::Json ElasticLog::views() const {
  record::Json views = record::Json::array();
  for (const record::ViewRecord& view : views_) views.push_back(to_json(view));
  return views;
}

}  // namespace gradwire::session
