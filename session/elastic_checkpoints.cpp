#include "session/elastic_checkpoints.h"

#include <utility>

#include "gradwire/method/state_file.h"
#include "record/checkpoint_directory.h"
#include "record/fields.h"
#include "record/hash_text.h"

namespace gradwire::session {
namespace {

constexpr const char* kStateFile = "run.gws";

}  // namespace

ElasticCheckpoints::ElasticCheckpoints(std::filesystem::path directory, record::Json configuration,
                                       std::size_t kept)
    : directory_(std::move(directory)), configuration_(std::move(configuration)), kept_(kept) {}

void ElasticCheckpoints::save(std::uint64_t step, std::uint64_t turn, std::uint64_t hash,
                              const MethodState& state) {
  const auto path = record::begin_checkpoint(directory_, step);
  write_state(path / kStateFile, state);
  manifest_ = {{"hash", record::hash_text(hash)}, {"is_settled", false}};
  record::complete_checkpoint(path, step, configuration_, manifest_);
  step_ = step;
  turn_ = turn;
  is_settled_ = false;
  record::remove_old_checkpoints(directory_, kept_, settled_step_);
}

void ElasticCheckpoints::settle(std::uint64_t turn) {
  if (is_settled_ || turn < turn_) return;
  manifest_["is_settled"] = true;
  record::complete_checkpoint(record::begin_checkpoint(directory_, *step_), *step_, configuration_,
                              manifest_);
  is_settled_ = true;
  settled_step_ = step_;
}

std::optional<ElasticCheckpoints::Found> ElasticCheckpoints::newest() const {
  std::optional<std::pair<record::WholeCheckpoint, bool>> best;
  for (const record::WholeCheckpoint& checkpoint : record::whole_checkpoints(directory_)) {
    const record::Json manifest = record::read_manifest(checkpoint, configuration_);
    const bool is_settled = record::field<bool>(manifest, "is_settled");
    if (!best || is_settled || !best->second) best = {checkpoint, is_settled};
  }
  if (!best) return std::nullopt;
  return Found{.step = best->first.step,
               .is_settled = best->second,
               .state = read_state(best->first.directory / kStateFile)};
}

}  // namespace gradwire::session
