// The exchange of one step on one process, with ef(topk) on a small tensor: v = g + e; sends
// c = C(v); e = v - c. It stands in for gradwire's exchanges, which cannot be stopped and repeated
// yet: codec, frames and arithmetic are theirs, threads and transport are not there.
//
// A step's result is a function of its *result frames*, one for each rank: with the topology
// gather, the rank's message; with scatter, the sum of the chunk that the rank owns. Numbers are
// small integers, so that sums are exact and can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/wire/frame.h"

namespace gradwire::simulate {

inline constexpr std::size_t kElements = 16;
using Vector = std::vector<float>;
using Bytes = std::shared_ptr<const std::vector<std::byte>>;

enum class Route { gather, scatter };

// What all processes of a simulation share.
struct Codecs {
  std::unique_ptr<const Codec> up = make_codec("topk(25%)");
  std::unique_ptr<const Codec> down = make_plain_codec();
  Workspace workspace;
  Scale scale;
};

struct FrameKey {
  std::uint64_t world = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;  // the sender
  Direction direction = Direction::hop;

  bool operator==(const FrameKey&) const = default;
};

// A process's frames of one step. Receives, adds, and decodes; its memory is another's.
class StepExchange {
 public:
  StepExchange(Codecs& codecs, Route route, std::uint64_t world, std::uint64_t step,
               std::size_t rank, std::size_t ranks);

  std::uint64_t world() const { return world_; }
  std::uint64_t step() const { return step_; }
  std::size_t ranks() const { return ranks_; }

  // Encodes v. Afterwards error() is what was not sent, and sent() the rest.
  void encode(const Vector& values);
  bool has_encoded() const { return !error_.empty(); }
  const Vector& error() const { return error_; }
  const Vector& sent() const { return sent_; }

  // The frame for a rank (scatter), or for all (gather).
  Bytes frame_for(std::size_t rank) const;

  // scatter: the message of a rank for the chunk that this one owns. Gives the result frame when it
  // was the last.
  Bytes take_up(std::size_t rank, const Bytes& frame);

  // Whether the frame is intact and the expected one.
  bool take_result(std::size_t rank, const Bytes& frame);
  Bytes result(std::size_t rank) const { return results_[rank]; }

  // The sum over all ranks; nothing if a result frame is missing.
  std::optional<Vector> sum();

 private:
  struct Chunk {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  Chunk chunk(std::size_t rank) const;
  Bytes make_frame(const Codec& codec, Direction direction, Chunk chunk, const Vector& values);
  std::optional<Frame> open(const Bytes& bytes, Direction direction, std::size_t sender) const;

  Codecs& codecs_;
  const Route route_;
  const std::uint64_t world_;
  const std::uint64_t step_;
  const std::size_t rank_;
  const std::size_t ranks_;
  Vector error_, sent_;
  std::vector<Bytes> messages_;  // by receiver; gather has one for all
  std::vector<Bytes> ups_;       // by sender
  std::vector<Bytes> results_;   // by rank
};

}  // namespace gradwire::simulate
