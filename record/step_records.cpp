#include "record/step_records.h"

#include <string>
#include <string_view>

#include "gradwire/core/error.h"
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"
#include "gradwire/method/registry.h"
#include "record/fields.h"
#include "record/json_file.h"
#include "record/note_json.h"

namespace gradwire::record {
namespace {

constexpr double kMsPerSecond = 1e3;
constexpr const char* kAttendance = "attendance";
constexpr const char* kShares = "shares";
constexpr const char* kLate = "late";

std::string to_line(const StepRecord& step) {
  Json json = {{"step", step.step},
               {"loss", nullptr},
               {"learning_rate", step.learning_rate},
               {"bytes_up", step.traffic.bytes_sent},
               {"bytes_down", step.traffic.bytes_received},
               {"message_bytes", step.traffic.message_bytes},
               {"uploads", step.uploads},
               {"uploads_skipped", step.uploads_skipped},
               {"poisoned", step.poisoned},
               {"compute_ms", kMsPerSecond * step.phases.compute_seconds},
               {"encode_ms", kMsPerSecond * step.phases.encode_seconds},
               {"exchange_ms", kMsPerSecond * step.phases.exchange_seconds},
               {"decode_ms", kMsPerSecond * step.phases.decode_seconds},
               {"step_ms", kMsPerSecond * step.seconds}};
  if (step.metrics.loss) json["loss"] = *step.metrics.loss;
  if (step.metrics.gap) json["gap"] = *step.metrics.gap;
  if (step.metrics.test_loss) json["test_loss"] = *step.metrics.test_loss;
  if (step.metrics.accuracy) json["accuracy"] = *step.metrics.accuracy;
  if (step.metrics.mean_iou) json["mean_iou"] = *step.metrics.mean_iou;
  if (step.note) json[step.note->kind->step_name] = to_json(*step.note);
  if (step.shares) json[kShares] = *step.shares;
  if (!step.late.empty()) json[kLate] = step.late;
  if (step.attendance) json[kAttendance] = to_json(*step.attendance);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// In a line, null stands for a metric that was not evaluated or is not finite.
std::optional<double> known_number(const Json& json, const char* name) {
  if (json.contains(name) && json[name].is_null()) return std::nullopt;
  return optional_number(json, name);
}

using NoteKinds = std::vector<const NoteKind*>;

StepRecord from_json(const Json& json, std::span<const NoteKind* const> kinds) {
  const auto seconds = [&](const char* name) { return field<double>(json, name) / kMsPerSecond; };
  return {.step = field<std::uint64_t>(json, "step"),
          .metrics = {.loss = known_number(json, "loss"),
                      .gap = known_number(json, "gap"),
                      .test_loss = known_number(json, "test_loss"),
                      .accuracy = known_number(json, "accuracy"),
                      .mean_iou = known_number(json, "mean_iou")},
          .learning_rate = field<double>(json, "learning_rate"),
          .traffic = {.message_bytes = field<std::uint64_t>(json, "message_bytes"),
                      .bytes_sent = field<std::uint64_t>(json, "bytes_up"),
                      .bytes_received = field<std::uint64_t>(json, "bytes_down")},
          .uploads = field<std::uint64_t>(json, "uploads"),
          .uploads_skipped = field<std::uint64_t>(json, "uploads_skipped"),
          .poisoned = field<bool>(json, "poisoned"),
          .phases = {.compute_seconds = seconds("compute_ms"),
                     .encode_seconds = seconds("encode_ms"),
                     .exchange_seconds = seconds("exchange_ms"),
                     .decode_seconds = seconds("decode_ms")},
          .seconds = seconds("step_ms"),
          .note = note_in(json, kinds),
          .attendance = json.contains(kAttendance)
                            ? std::optional(attendance_from(json[kAttendance]))
                            : std::nullopt,
          .shares = json.contains(kShares)
                        ? std::optional(field<std::vector<std::uint32_t>>(json, kShares))
                        : std::nullopt,
          .late = json.contains(kLate) ? field<std::vector<std::size_t>>(json, kLate)
                                       : std::vector<std::size_t>()};
}

// `expected` is the step of the line; nothing if it may be any.
StepRecord parse_line(const std::filesystem::path& path, std::string_view line,
                      std::uint64_t number, std::optional<std::uint64_t> expected,
                      const NoteKinds& kinds) {
  const auto fail = [&](const std::string& what) {
    fail_file(path, "line " + std::to_string(number) + ": " + what);
  };
  StepRecord step;
  try {
    step = parse_step(line, kinds);
  } catch (const Error& error) {
    fail(error.what());
  }
  // Only a member of an elastic run has not seen the first steps.
  if (!expected && !step.attendance) expected = 1;
  if (expected && step.step != *expected) {
    fail("expected step " + std::to_string(*expected) + ", found " + std::to_string(step.step));
  }
  return step;
}

// The lines of a file that have an end.
std::vector<std::string> whole_lines(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Leaves the lines of the first steps, and nothing else.
void cut_back(const std::filesystem::path& path, std::uint64_t steps) {
  const std::vector<std::string> lines = whole_lines(path);
  if (lines.size() < steps) {
    fail_file(path, "has " + std::to_string(lines.size()) + " steps, but the run resumes after " +
                        "step " + std::to_string(steps));
  }
  std::string kept;
  for (std::uint64_t i = 0; i < steps; ++i) kept += lines[i] + '\n';
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(kept)));
  file.commit();
}

}  // namespace

StepWriter::StepWriter(const std::filesystem::path& path, std::uint64_t steps_kept) : path_(path) {
  if (steps_kept > 0) cut_back(path, steps_kept);
  file_.open(path, steps_kept > 0 ? std::ios::app : std::ios::trunc);
  if (!file_) fail_errno(path_, "cannot be written");
}

void StepWriter::write(std::span<const StepRecord> steps) {
  for (const StepRecord& step : steps) file_ << to_line(step);
  file_.flush();
  if (!file_) fail_errno(path_, "cannot be written");
}

StepRecord parse_step(std::string_view line, std::span<const NoteKind* const> kinds) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) throw Error("is not JSON");
  return from_json(json, kinds);
}

std::vector<StepRecord> read_steps(const std::filesystem::path& path) {
  const NoteKinds kinds = note_kinds();
  std::vector<StepRecord> steps;
  for (const std::string& line : whole_lines(path)) {
    std::optional<std::uint64_t> expected;
    if (!steps.empty()) expected = steps.back().step + 1;
    steps.push_back(parse_line(path, line, steps.size() + 1, expected, kinds));
  }
  return steps;
}

}  // namespace gradwire::record
