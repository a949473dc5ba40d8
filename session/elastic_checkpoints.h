// Checkpoints of one member of an elastic run, in a directory of its own:
//
//   step-N/run.gws         everything that is the same on all members
//   step-N/manifest.json   see record/checkpoint_directory.h
//
// Any one of them, of any member, resumes the run. The memories of the method differ from member to
// member, and are not saved: a resumed run begins with empty ones.
//
// A checkpoint is settled if all members have had that step. Of one that is not, the others may
// have replaced the last step (docs/membership.md). A resumed run prefers settled ones. For one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "gradwire/method/state.h"
#include "record/json_file.h"

namespace gradwire::session {

class ElasticCheckpoints {
 public:
  // The directory need not exist. `configuration` is what a resumed run must share.
  ElasticCheckpoints(std::filesystem::path directory, record::Json configuration, std::size_t kept);

  const std::filesystem::path& directory() const { return directory_; }

  // `turn` counts the turns of the group. Throws FileError.
  void save(std::uint64_t step, std::uint64_t turn, std::uint64_t hash, const MethodState& state);
  // All members have had this turn.
  void settle(std::uint64_t turn);
  std::optional<std::uint64_t> saved_step() const { return step_; }

  struct Found {
    std::uint64_t step = 0;
    bool is_settled = true;
    MethodState state = {};
  };
  // The newest settled one; the newest of all if none is settled; nothing if there is none. Throws
  // FileError for one that is damaged or of another run.
  std::optional<Found> newest() const;

 private:
  std::filesystem::path directory_;
  record::Json configuration_;
  std::size_t kept_;
  // The last one that was saved here.
  std::optional<std::uint64_t> step_;
  std::uint64_t turn_ = 0;
  bool is_settled_ = true;
  record::Json manifest_;
  std::optional<std::uint64_t> settled_step_;
};

}  // namespace gradwire::session
