#include "convex/checkpoint.h"

#include <cstring>
#include <string>

#include "gradwire/core/error.h"
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"
#include "gradwire/method/state_file.h"
#include "gradwire/wire/frame.h"
#include "record/checkpoint_directory.h"
#include "record/fields.h"
#include "record/hash_text.h"

namespace gradwire::convex {
namespace {

using record::Json;

constexpr std::size_t kKept = 2;
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

}  // namespace

void save_checkpoint(Communicator& communicator, const Method& method,
                     const std::filesystem::path& directory, const Json& configuration,
                     const Checkpoint& checkpoint) {
  const std::filesystem::path place = record::begin_checkpoint(directory, checkpoint.step);
  save_method(method, place, communicator.rank(), communicator.size());
  if (communicator.rank() == 0) {
    AtomicFile model(place / kModel);
    model.write(std::as_bytes(std::span(checkpoint.x)));
    model.commit();
  }
  communicator.barrier();
  if (communicator.rank() != 0) return;
  record::complete_checkpoint(place, checkpoint.step, configuration,
                              {{"moved_squared", checkpoint.moved_squared},
                               {"ranks", communicator.size()},
                               {"model_hash", model_hash(checkpoint.x)}});
  record::remove_old_checkpoints(directory, kKept);
}

std::optional<Checkpoint> load_checkpoint(Communicator& communicator, Method& method,
                                          const std::filesystem::path& directory,
                                          const Json& configuration) {
  const auto found = record::whole_checkpoints(directory);
  if (found.empty()) return std::nullopt;
  const std::filesystem::path& place = found.back().place;
  const Json manifest = record::read_manifest(found.back(), configuration);
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
