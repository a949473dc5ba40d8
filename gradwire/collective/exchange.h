// Exchange: the compressed mean of a list of tensors over all ranks. All methods are built on it.
// Each rank passes its values, and all ranks get the same mean, bit for bit. A rank can then read
// its own message as it was sent.
//
// An exchange is made once for a list of tensors, in the same order on all ranks, and started at
// every step. It owns its buffers, and later steps do not allocate. The work runs on the
// communicator's progress thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/collective/topology.h"
#include "gradwire/core/telemetry.h"

namespace gradwire {

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

struct ExchangeOptions {
  std::shared_ptr<const Codec> up = {};
  std::shared_ptr<const Codec> down = {};  // null: the same as up, if the topology has one

  Topology topology = Topology::automatic;
  std::size_t server = 0;                // its rank, where the topology has a server
  bool server_contributes = true;        // false: it only averages, and has no values
  std::uint64_t seed = 0;                // of all random numbers; the same on all ranks
  std::size_t segment_elements_max = 0;  // of one frame; 0: chosen from the number of elements
};

struct ExchangeCall {
  std::uint64_t step = 0;
  float weight = 1;  // of this rank's values in the mean, such as its batch size

  // One span for each tensor. Values and means may be the same memory, unless the values are needed
  // later. A server that does not contribute passes no values.
  std::span<const std::span<const float>> values = {};
  std::span<const std::span<float>> means = {};
};

struct ExchangeReport {
  // A rank met a NaN or an infinity. All ranks see the same flag, and must not use the means.
  bool poisoned = false;

  // The ranks whose messages some owner did not count, since they were late: the same on all ranks.
  std::vector<std::size_t> late = {};

  Traffic traffic = {};
  Phases phases = {};
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Topology topology() const = 0;
  virtual const Codec& up(std::size_t tensor) const = 0;  // the codec of the uplink

  // Returns at once. The memory of the spans must stay valid until finish() returns. Throws Error
  // for spans of other sizes than the tensors, for a negative weight or a NaN, and if the last call
  // was not finished.
  virtual void start(const ExchangeCall& call) = 0;
  // Waits for the started call. Throws PeerError, and Error if none was started.
  virtual ExchangeReport finish() = 0;

  ExchangeReport run(const ExchangeCall& call) {
    start(call);
    return finish();
  }

  // One piece of a rank's own message.
  struct OwnPiece {
    TensorPiece of_tensor;
    const Codec& codec;  // that of the uplink, or that without its entropy stage
    std::span<const std::byte> payload;
    std::uint64_t message_bytes;  // its part of Traffic::message_bytes
  };
  // Visits the message of this rank in the last exchange, piece by piece in the order of the
  // elements. Throws Error on a ring that rounds at every hop: there a rank has no message of its
  // own.
  using Visitor = std::function<void(const OwnPiece& piece)>;
  virtual void walk_own(const Visitor& visit) const = 0;
};

// All ranks call it, and compare tensors and options. Throws StartError if ranks differ, and Error
// for options that contradict one another.
std::unique_ptr<Exchange> make_exchange(Communicator& communicator, std::vector<TensorSize> tensors,
                                        const ExchangeOptions& options);

}  // namespace gradwire
