// Exchange: the compressed mean of a list of tensors over all ranks, the one primitive that carries
// every method. Every rank gives its values; every rank gets the bit-identical mean, and can walk
// its own message as it was sent.
//
// An exchange is made once for a list of tensors, in the same order on all ranks, and started again
// and again: it owns its buffers, and steady work does not allocate. The work runs on the
// communicator's progress thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/core/telemetry.h"

namespace gradwire {

enum class Topology {
  automatic,  // chosen by choose_topology
  scatter,    // every rank owns a part of the elements, and averages it for all
  server,     // one rank owns all of them
  gather,     // everybody gets everybody's message: no second rounding
  ring,       // sums travel from neighbour to neighbour
};

// "auto", "scatter", "server", "gather" or "ring".
const char* name(Topology topology);
// Throws Error for a name that is none.
Topology topology_of(std::string_view name);

struct TensorSize {
  std::string name;
  std::size_t elements = 0;
};

// Consecutive elements of one of the tensors.
struct TensorPiece {
  std::size_t tensor = 0;  // index into the list
  std::size_t first = 0;   // element of the tensor
  std::size_t elements = 0;
};

// What the owner of a chunk does between the mean and the downlink: here methods hold the memory of
// the owner's half. Called on the progress thread.
class OwnerPort {
 public:
  virtual ~OwnerPort() = default;

  // `wanted` becomes what goes down for the exact mean of what was sent. Must not change any memory
  // yet: the exchange may still turn out to be poisoned.
  virtual void prepare(const TensorPiece& piece, std::span<const float> mean,
                       std::span<float> wanted) = 0;

  // The exchange is good: all ranks got `sent` for what prepare() wanted.
  virtual void commit(const TensorPiece& piece, std::span<const float> mean,
                      std::span<const float> sent) = 0;
};

// What this rank sent for one piece.
class SentPiece {
 public:
  // Nothing was sent: a server that only averages, or a rank that let its last message be used.
  SentPiece() = default;
  SentPiece(const Codec& codec, std::span<const std::byte> payload, Workspace& workspace)
      : codec_(&codec), payload_(payload), workspace_(&workspace) {}

  bool is_empty() const { return codec_ == nullptr; }
  std::span<const std::byte> payload() const { return payload_; }

  // target = C(v); zeros where nothing was sent.
  void decode(std::span<float> target) const;
  // target += weight C(v)
  void add(float weight, std::span<float> target) const;

 private:
  const Codec* codec_ = nullptr;
  std::span<const std::byte> payload_;
  Workspace* workspace_ = nullptr;
};

// What a worker does before and after: here methods hold the memory of the worker's half. Called on
// the progress thread, once for each piece, while the piece is in the cache.
class WorkerPort {
 public:
  virtual ~WorkerPort() = default;

  // Whether remember() needs what prepare() made. Otherwise that is not kept.
  virtual bool keeps_values() const = 0;

  // What the mean of a tensor is to be multiplied by.
  virtual float mean_scale(std::size_t tensor) const = 0;

  // `values` becomes what is sent for the gradient; they may be the same memory. Must not change
  // any memory yet: the exchange may still turn out to be poisoned.
  virtual void prepare(const TensorPiece& piece, std::span<const float> gradient,
                       std::span<float> values) = 0;

  // The exchange is good, and this is what the rank sent of it. `values` is what prepare() made, if
  // that is kept; they are not needed any more. `sent` may lie in the same memory.
  virtual void remember(const TensorPiece& piece, const SentPiece& sent,
                        std::span<float> values) = 0;

  // Then: `mean` is what all ranks got, and `result` becomes the output. They may be the same
  // memory.
  virtual void commit(const TensorPiece& piece, std::span<const float> mean,
                      std::span<float> result) = 0;
};

struct ExchangeOptions {
  std::shared_ptr<const Codec> up = {};
  std::shared_ptr<const Codec> down = {};  // null: as up, where the topology has a way down

  // Instead of both, a codec for each tensor, up and down; not on a ring.
  std::vector<std::shared_ptr<const Codec>> each = {};

  Topology topology = Topology::automatic;
  std::size_t server = 0;                // the rank that owns all, with Topology::server
  bool server_contributes = true;        // false: it only averages, and gives no values
  std::uint64_t seed = 0;                // of all random numbers; the same on all ranks
  std::size_t segment_elements_max = 0;  // that travel as one frame; 0: as segment_elements() says
  bool is_ported = false;                // calls have a worker's port: what came is kept for it
  bool keeps_uploads = false;            // ranks may let their last message be used again
};

struct ExchangeCall {
  std::uint64_t step = 0;
  float weight = 1;  // of this rank's values in the mean, such as its batch size

  // One span for each tensor. Values and mean may be the same memory, unless the own message is to
  // be compared with the values afterwards. A server that does not contribute gives empty spans.
  std::span<const std::span<const float>> values = {};
  std::span<const std::span<float>> means = {};

  OwnerPort* owner = nullptr;  // what this rank does as an owner; null: nothing

  // What this rank does as a worker, if the exchange is ported. There are no `values` then: `means`
  // holds the gradients, and at the end the output, which is NaN everywhere after poison.
  WorkerPort* worker = nullptr;

  // What this rank sent last holds again, where uploads are kept. Nothing is prepared.
  bool is_repeat = false;
};

struct ExchangeReport {
  // Some rank met a NaN or an infinity. All ranks see the same; nothing may be committed.
  bool poisoned = false;
  Traffic traffic = {};
  Phases phases = {};
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Topology topology() const = 0;
  virtual const Codec& up(std::size_t tensor) const = 0;  // the uplink's

  // Returns at once. What the call points to must stay until finish() returns.
  virtual void start(const ExchangeCall& call) = 0;
  // Waits for what was started. Throws PeerError.
  virtual ExchangeReport finish() = 0;

  ExchangeReport run(const ExchangeCall& call) {
    start(call);
    return finish();
  }

  // What this rank sent in the last exchange, piece by piece in the order of the elements: payloads
  // of the uplink's codec, to be decoded by it. Throws Error on a ring that rounds on the way,
  // where a rank has no message of its own.
  using Visitor = std::function<void(const TensorPiece& piece, std::span<const std::byte> payload)>;
  virtual void walk_own(const Visitor& visit) const = 0;

  // The ranges that this rank averages for all; empty where there are no owners.
  virtual std::vector<TensorPiece> owned() const = 0;

  // Every rank's last message, as far as this rank keeps it: for saving, and to go on from there.
  // Between calls. Loading throws Error for bytes of another exchange.
  virtual std::size_t upload_bytes() const = 0;
  virtual std::vector<std::byte> save_uploads() const = 0;
  virtual void load_uploads(std::span<const std::byte> bytes) = 0;
};

// Compares everything that must be the same with all peers. Throws StartError where something is
// not, and Error for options that make no sense together.
std::unique_ptr<Exchange> make_exchange(Communicator& communicator, std::vector<TensorSize> tensors,
                                        const ExchangeOptions& options);

// How many elements travel as one frame when nobody says, with that many in a chunk: few enough
// that some frames travel while others are worked on, and enough that the cost of a frame does not
// count. Where uploads are kept, a chunk is one frame as long as that is not too large: to say that
// the last one holds again is then one small frame.
std::size_t segment_elements(std::size_t chunk_elements, bool keeps_uploads = false);

// What Topology::automatic stands for: a pure function, the same on all ranks. `down` is the
// downlink's codec if one was asked for.
Topology choose_topology(std::size_t elements, std::size_t ranks, const Codec& up,
                         const Codec* down);

// The same for messages of that many bytes that cannot be summed and are rounded on the way down
// as on the way up: where every tensor has a codec of its own.
Topology choose_mixed_topology(std::size_t message_bytes, std::size_t ranks);

// The cheaper of the topologies that keep the mean exact without summing payloads: gather or
// scatter.
Topology choose_exact_topology(std::size_t elements, std::size_t ranks, const Codec& up);

}  // namespace gradwire
