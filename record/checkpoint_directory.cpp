#include "record/checkpoint_directory.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "gradwire/file/file_failure.h"

namespace gradwire::record {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr const char* kManifest = "manifest.json";

// Whole ones and others.
std::map<std::uint64_t, std::filesystem::path> list(const std::filesystem::path& directory) {
  std::map<std::uint64_t, std::filesystem::path> found;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(directory, absent)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::uint64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
    if (error == std::errc() && rest == end) found[step] = entry.path();
  }
  return found;
}

void remove_checkpoint(const std::filesystem::path& checkpoint) {
  std::error_code ignored;
  std::filesystem::remove(checkpoint / kManifest, ignored);  // first: a rest is no checkpoint
  std::filesystem::remove_all(checkpoint, ignored);
}

}  // namespace

std::string differences(const Json& then, const Json& now) {
  std::string list;
  for (const auto& [name, value] : now.items()) {
    const Json before = then.contains(name) ? then[name] : Json();
    if (before == value) continue;
    list += (list.empty() ? "" : ", ") + name + " was " + before.dump() + " and is " + value.dump();
  }
  return list;
}

std::vector<WholeCheckpoint> whole_checkpoints(const std::filesystem::path& directory) {
  std::vector<WholeCheckpoint> whole;
  for (const auto& [step, path] : list(directory)) {
    if (std::filesystem::exists(path / kManifest)) whole.push_back({step, path});
  }
  return whole;
}

std::filesystem::path begin_checkpoint(const std::filesystem::path& directory, std::uint64_t step) {
  const auto path = directory / (std::string(kPrefix) + std::to_string(step));
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) fail_file(path, "cannot be created: " + failure.message());
  return path;
}

void complete_checkpoint(const std::filesystem::path& checkpoint, std::uint64_t step,
                         const Json& configuration, Json manifest) {
  manifest["step"] = step;
  manifest["configuration"] = configuration;
  write_json_file(checkpoint / kManifest, manifest);
}

Json read_manifest(const WholeCheckpoint& checkpoint, const Json& configuration) {
  Json manifest = read_json_file(checkpoint.directory / kManifest);
  if (!manifest.contains("configuration")) {
    fail_file(checkpoint.directory / kManifest, "is not a manifest: it has no configuration");
  }
  const std::string differs = differences(manifest["configuration"], configuration);
  if (!differs.empty()) fail_file(checkpoint.directory, "is of another run: " + differs);
  return manifest;
}

void remove_old_checkpoints(const std::filesystem::path& directory, std::size_t kept,
                            std::optional<std::uint64_t> best) {
  const std::vector<WholeCheckpoint> whole = whole_checkpoints(directory);
  std::set<std::uint64_t> stay;
  for (std::size_t i = whole.size() - std::min(kept, whole.size()); i < whole.size(); ++i) {
    stay.insert(whole[i].step);
  }
  if (best) stay.insert(*best);
  std::error_code ignored;
  for (const auto& [step, path] : list(directory)) {
    const bool is_whole = std::filesystem::exists(path / kManifest, ignored);
    if (is_whole && stay.contains(step)) continue;
    remove_checkpoint(path);
  }
}

void remove_checkpoints_after(const std::filesystem::path& directory, std::uint64_t step) {
  for (const auto& [each, path] : list(directory)) {
    if (each > step) remove_checkpoint(path);
  }
}

}  // namespace gradwire::record
