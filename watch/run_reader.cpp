#include "watch/run_reader.h"

#include <algorithm>
#include <numeric>

#include "gradwire/core/error.h"
#include "gradwire/method/registry.h"
#include "record/fields.h"
#include "record/json_file.h"
#include "record/step_records.h"

namespace gradwire::watch {
namespace {

namespace fs = std::filesystem;
using record::Json;

constexpr const char* kConfigurationFile = "configuration.json";
constexpr std::size_t kRecentSteps = 50;
constexpr std::size_t kViewsMax = 1000;
constexpr std::uintmax_t kDocumentBytesMax = 64u << 20;

// A run without a step for so long is called quiet: so many seconds, and so many times its usual
// step.
constexpr double kQuietSeconds = 15;
constexpr double kQuietSteps = 10;

enum DocumentIndex : std::size_t { kConfiguration, kStart, kRun };

// What start.json would say, out of what older programs wrote.
record::RunRecord from_configuration(const Json& json) {
  record::RunRecord record;
  record.configuration = json;
  record.is_finished = false;
  const auto method = json.find("method");
  if (method != json.end() && method->is_string()) record.method = method->get<std::string>();
  const auto workers = json.find("workers");
  if (workers != json.end() && workers->is_number_unsigned()) {
    record.workers = workers->get<std::size_t>();
  }
  return record;
}

}  // namespace

bool is_run_directory(const fs::path& directory) {
  std::error_code ignored;
  return std::ranges::any_of(
      std::array{record::kStepsFile, record::kStartFile, record::kRunFile, kConfigurationFile},
      [&](const char* file) { return fs::is_regular_file(directory / file, ignored); });
}

RunReader::RunReader(fs::path directory)
    : directory_(std::move(directory)),
      note_kinds_(note_kinds()),
      documents_{{{kConfigurationFile}, {record::kStartFile}, {record::kRunFile}}},
      steps_file_(directory_ / record::kStepsFile),
      views_file_(directory_ / record::kViewsFile) {}

bool RunReader::read(std::size_t bytes_max) {
  const std::string problem_before = problem_ + steps_problem_;
  bool has_more = false;
  try {
    problem_.clear();
    for (Document& document : documents_) read_document(document);
    has_more = read_steps(bytes_max);
    read_views(bytes_max);
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
  if (problem_ + steps_problem_ != problem_before) ++version_;
  return has_more;
}

void RunReader::read_document(Document& document) {
  const fs::path path = directory_ / document.name;
  std::error_code absent;
  const auto time = fs::last_write_time(path, absent);
  const std::uintmax_t size = absent ? 0 : fs::file_size(path, absent);
  const bool is_there = !absent;
  if (is_there == document.is_there && time == document.time && size == document.size) return;
  document.is_there = is_there;
  document.time = time;
  document.size = size;
  document.json = Json();
  ++version_;
  known_.reset();
  if (is_there && size <= kDocumentBytesMax) document.json = record::read_json_file(path);
  for (const DocumentIndex index : {kConfiguration, kStart, kRun}) {
    const Json& json = documents_[index].json;
    if (json.is_null()) continue;
    known_ = index == kConfiguration ? from_configuration(json) : record::run_from_json(json);
  }
}

bool RunReader::read_steps(std::size_t bytes_max) {
  return steps_file_.read(bytes_max, {.restart = [this] { forget_steps(); },
                                      .line = [this](std::string_view line) { add_step(line); }});
}

void RunReader::read_views(std::size_t bytes_max) {
  const auto restart = [this] {
    views_.clear();
    views_seen_ = 0;
    members_lost_ = 0;
    ++version_;
  };
  const auto add = [this](std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) return;
    views_.push_back(record::view_from(json));
    ++views_seen_;
    for (const record::DepartedMember& member : views_.back().departed) {
      if (member.why != "left") ++members_lost_;
    }
    if (views_.size() > kViewsMax) views_.pop_front();
    ++version_;
  };
  views_file_.read(bytes_max, {.restart = restart, .line = add});
}

void RunReader::forget_steps() {
  steps_ = {};
  lines_ = 0;
  last_step_ = 0;
  exposed_seconds_ = 0;
  members_.reset();
  recent_seconds_.clear();
  steps_problem_.clear();
  ++version_;
}

// What comes after a line that cannot be understood is left out, until the file is another one.
void RunReader::add_step(std::string_view line) {
  if (!steps_problem_.empty()) return;
  ++lines_;
  ++version_;
  try {
    const record::StepRecord step = record::parse_step(line, note_kinds_);
    if (step.step <= last_step_) {
      throw Error("step " + std::to_string(step.step) + " comes after step " +
                  std::to_string(last_step_));
    }
    last_step_ = step.step;
    learning_rate_ = step.learning_rate;
    exposed_seconds_ += std::max(0.0, step.seconds - step.phases.compute_seconds);
    if (step.attendance) members_ = step.attendance->members;
    recent_seconds_.push_back(step.seconds);
    if (recent_seconds_.size() > kRecentSteps) recent_seconds_.pop_front();
    steps_.add(step);
  } catch (const Error& error) {
    steps_problem_ =
        std::string(record::kStepsFile) + ": line " + std::to_string(lines_) + ": " + error.what();
  }
}

std::string RunReader::method() const { return known_ ? known_->method : ""; }

// A run that Python writes has a run.json all along.
bool RunReader::is_finished() const {
  return documents_[kRun].is_there && known_ && known_->is_finished;
}

// A finished run speaks for itself; of others, what is known and what its steps add up to.
record::RunRecord RunReader::record() const {
  if (is_finished()) return *known_;
  record::RunRecord record = known_.value_or(record::RunRecord());
  const record::RunRecord& totals = steps_.totals();
  record.steps = totals.steps;
  record.final = totals.final;
  record.traffic = totals.traffic;
  record.uploads = totals.uploads;
  record.uploads_skipped = totals.uploads_skipped;
  record.poisoned = totals.poisoned;
  record.phases = totals.phases;
  record.seconds = totals.seconds;
  if (members_) record.workers = *members_;
  return record;
}

report::Run RunReader::run() const {
  report::Run run{.record = record(),
                  .steps = steps_.steps(),
                  .counts = steps_.counts(),
                  .notes = steps_.notes()};
  run.record.views = Json::array();
  for (const record::ViewRecord& view : views_) run.record.views.push_back(to_json(view));
  return run;
}

RunState RunReader::state(double now) const {
  using Phase = RunState::Phase;
  const record::RunRecord record = this->record();
  RunState state{.name = record.method,
                 .directory = fs::absolute(directory_).lexically_normal().filename().string(),
                 .problem = problem_.empty() ? steps_problem_ : problem_,
                 .step = last_step_,
                 .steps_seen = lines_,
                 .written_at = steps_file_.written_at(),
                 .workers = record.workers,
                 .is_elastic = views_seen_ > 0,
                 .views = views_seen_,
                 .members_lost = members_lost_,
                 .metrics = record.final,
                 .learning_rate = learning_rate_,
                 .traffic = record.traffic,
                 .uploads = record.uploads,
                 .uploads_skipped = record.uploads_skipped,
                 .poisoned = record.poisoned,
                 .phases = record.phases,
                 .seconds = record.seconds,
                 .exposed_seconds = exposed_seconds_};
  if (state.directory.empty()) {  // "runs/none/"
    state.directory = fs::absolute(directory_).lexically_normal().parent_path().filename();
  }
  const auto planned = record.configuration.find(record::kStepsPlanned);
  if (planned != record.configuration.end() && planned->is_number_unsigned()) {
    state.steps_planned = planned->get<std::uint64_t>();
  }
  const double recent = std::accumulate(recent_seconds_.begin(), recent_seconds_.end(), 0.0);
  const double per_step =
      recent / static_cast<double>(std::max<std::size_t>(1, recent_seconds_.size()));
  if (per_step > 0) state.steps_per_second = 1 / per_step;
  if (state.written_at > 0) state.age_seconds = std::max(0.0, now - state.written_at);
  const auto size = static_cast<double>(steps_file_.bytes_in_file());
  const auto done = static_cast<double>(steps_file_.bytes_read());
  if (size > 0) state.share_read = done / size;
  for (const report::NoteCounts& counts : steps_.note_counts()) {
    for (std::size_t i = 0; i < counts.kind().totals.size(); ++i) {
      const auto number = counts.totals().number(i);
      if (!number || counts.totals().is_by_name(i)) continue;
      state.notes.push_back({counts.kind().step_name, counts.kind().totals[i].name, *number});
    }
  }
  // A half-written line is always left; more than that is still to be read.
  constexpr double kHalfLine = 1 << 16;
  const bool is_behind = size - done > std::max(kHalfLine, 0.02 * size);
  state.phase = !state.problem.empty()                                       ? Phase::damaged
                : is_behind                                                  ? Phase::reading
                : is_finished()                                              ? Phase::finished
                : lines_ == 0                                                ? Phase::waiting
                : state.age_seconds > kQuietSeconds + kQuietSteps * per_step ? Phase::quiet
                                                                             : Phase::running;
  return state;
}

}  // namespace gradwire::watch
