#include "session/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gradwire/core/usage_error.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/version.h"
#include "record/checkpoint_directory.h"
#include "record/machine.h"
#include "train/gradient_recorder.h"
#include "train/model_files.h"

namespace gradwire::session {
namespace {

constexpr const char* kConfigurationFile = "configuration.json";

bool holds_run(const std::filesystem::path& directory) {
  return std::ranges::any_of(
      std::array{record::kRunFile, record::kStepsFile, record::kCheckpoints},
      [&](const char* file) { return std::filesystem::exists(directory / file); });
}

void remove_if_there(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::remove_all(path, failure);
  if (failure) fail_file(path, "cannot be removed: " + failure.message());
}

// A run without a checkpoint may begin again if it is this one and has not finished.
void check_beginning(const std::filesystem::path& directory, const record::Json& configuration) {
  if (std::filesystem::exists(directory / record::kRunFile)) {
    fail_file(directory,
              "holds a run that has finished, and has no checkpoint to resume from: give "
              "--overwrite to start again");
  }
  const auto path = directory / kConfigurationFile;
  if (!std::filesystem::exists(path)) return;
  const std::string differs = record::differences(record::read_json_file(path), configuration);
  if (!differs.empty()) fail_file(directory, "is of another run: " + differs);
}

}  // namespace

std::string safe_name(const std::string& text) {
  constexpr std::size_t kNameMax = 120;
  std::string safe;
  for (const char c : text) {
    const bool is_plain = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
                          ('0' <= c && c <= '9') || c == '.' || c == '_' || c == '%';
    if (is_plain) {
      safe += c;
    } else if (!safe.ends_with('-')) {
      safe += '-';
    }
  }
  while (safe.ends_with('-')) safe.pop_back();
  return safe.substr(0, kNameMax);
}

namespace {

// "-workers8-lr0.1": the options that the user has set, so that other settings get other names.
std::string settings_of(const TrainOptions& options) {
  std::string text;
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += fmt::format("-{}{}", name, *value);
  };
  const TrainOptions usual;
  add("workers", options.workers.workers);
  add("steps", options.steps);
  add("epochs", options.network.epochs);
  add("batch", options.batch);
  add("lr", options.network.learning_rate);
  if (options.network.optimiser != usual.network.optimiser) text += "-" + options.network.optimiser;
  if (options.network.schedule != usual.network.schedule) text += "-" + options.network.schedule;
  if (options.network.balance) text += "-balance";
  if (!options.network.grace.empty()) text += "-grace" + options.network.grace;
  if (options.split != usual.split) text += "-" + options.split;
  if (options.seed != usual.seed) text += fmt::format("-seed{}", options.seed);
  return text;
}

}  // namespace

std::filesystem::path output_directory(const TrainOptions& options, const std::string& what) {
  if (!options.out.empty()) {
    const auto out = std::filesystem::path(options.out).lexically_normal();
    return out.has_filename() ? out : out.parent_path();  // "x/" is "x"
  }
  const std::string data = std::filesystem::path(options.data_or_usual()).filename();
  return std::filesystem::path("runs") /
         safe_name(options.model + "-" + data + "-" + what + settings_of(options));
}

void check_directory(const std::filesystem::path& directory, const TrainOptions& options) {
  if (options.overwrite || options.resume || !holds_run(directory)) return;
  throw UsageError(fmt::format(
      "{} holds a run: give --resume to continue it, --overwrite to replace it, or another "
      "--out",
      directory.string()));
}

void prepare_directory(const std::filesystem::path& directory, const TrainOptions& options,
                       std::uint64_t resumed_from, const record::Json& configuration) {
  if (options.resume && resumed_from == 0) check_beginning(directory, configuration);
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    fail_file(directory, "cannot be created: " + failure.message() + "; choose another --out");
  remove_if_there(directory / record::kRunFile);
  if (resumed_from > 0) return;
  for (const char* name : {record::kCheckpoints, train::kModelFiles, train::kGradientFiles,
                           record::kStepsFile, record::kViewsFile, record::kStartFile}) {
    remove_if_there(directory / name);
  }
  record::write_json_file(directory / kConfigurationFile, configuration);
}

void write_start(const std::filesystem::path& directory, record::RunRecord record,
                 std::uint64_t steps_planned) {
  record.is_finished = false;
  record.version = GRADWIRE_VERSION;
  record.machine = record::describe_machine();
  record.configuration[record::kStepsPlanned] = steps_planned;
  record::write_run(directory / record::kStartFile, record);
}

}  // namespace gradwire::session
