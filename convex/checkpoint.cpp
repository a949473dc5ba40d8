#include "convex/checkpoint.h"

#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "gradwire/core/error.h"
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"
#include "gradwire/method/state_file.h"
#include "gradwire/wire/frame.h"
#include "record/fields.h"
#include "record/hash_text.h"

namespace gradwire::convex {
namespace {

using record::Json;

constexpr std::string_view kPrefix = "step-";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kModel = "x.f64";  // raw, little-endian

std::vector<double> read_model(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::vector<double> x(bytes.size() / sizeof(double));
  std::memcpy(x.data(), bytes.data(), x.size() * sizeof(double));
  return x;
}

std::string model_hash(std::span<const double> x) {
  return record::hash_text(checksum(std::as_bytes(x)));
}

// Directories of checkpoints by their step, whole ones and others.
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

void remove_old(const std::filesystem::path& directory) {
  constexpr std::size_t kKept = 2;
  auto found = list(directory);
  std::error_code ignored;  // what is left takes room and does no harm
  for (; found.size() > kKept; found.erase(found.begin())) {
    std::filesystem::remove_all(found.begin()->second, ignored);
  }
}

std::string differences(const Json& then, const Json& now) {
  std::string list;
  for (const auto& [name, value] : now.items()) {
    const Json before = then.contains(name) ? then[name] : Json();
    if (before == value) continue;
    list += (list.empty() ? "" : ", ") + name + " was " + before.dump() + " and is " + value.dump();
  }
  return list;
}

}  // namespace

void save_checkpoint(Communicator& communicator, const Method& method,
                     const std::filesystem::path& directory, const Json& configuration,
                     const Checkpoint& checkpoint) {
  const auto place = directory / (std::string(kPrefix) + std::to_string(checkpoint.step));
  std::error_code failure;
  std::filesystem::create_directories(place, failure);
  if (failure) fail_file(place, "cannot be made: " + failure.message());
  save_method(method, place, communicator.rank(), communicator.size());
  if (communicator.rank() == 0) {
    AtomicFile model(place / kModel);
    model.write(std::as_bytes(std::span(checkpoint.x)));
    model.commit();
  }
  communicator.barrier();
  if (communicator.rank() != 0) return;
  record::write_json_file(place / kManifest, {{"step", checkpoint.step},
                                              {"moved_squared", checkpoint.moved_squared},
                                              {"ranks", communicator.size()},
                                              {"model_hash", model_hash(checkpoint.x)},
                                              {"configuration", configuration}});
  remove_old(directory);
}

std::optional<Checkpoint> load_checkpoint(Communicator& communicator, Method& method,
                                          const std::filesystem::path& directory,
                                          const Json& configuration) {
  auto found = list(directory);
  while (!found.empty() && !std::filesystem::exists(found.rbegin()->second / kManifest)) {
    found.erase(std::prev(found.end()));
  }
  if (found.empty()) return std::nullopt;
  const std::filesystem::path& place = found.rbegin()->second;
  const Json manifest = record::read_json_file(place / kManifest);
  const std::string differs =
      differences(record::field<Json>(manifest, "configuration"), configuration);
  if (!differs.empty()) fail_file(place, "is of another run: " + differs);
  Checkpoint checkpoint{.step = record::field<std::uint64_t>(manifest, "step"),
                        .x = read_model(place / kModel),
                        .moved_squared = record::field<double>(manifest, "moved_squared")};
  if (model_hash(checkpoint.x) != record::field<std::string>(manifest, "model_hash")) {
    fail_file(place / kModel, "is damaged: it is not the model that the manifest names");
  }
  load_method(method, place, communicator.rank(), communicator.size());
  return checkpoint;
}

}  // namespace gradwire::convex
