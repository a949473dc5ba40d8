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
  std::shared_ptr<const Codec> down = {};  // null: as up, where the topology has a downlink

  Topology topology = Topology::automatic;
  std::size_t server = 0;          // its rank, where the topology has a server
  bool server_contributes = true;  // false: it only averages, and gives no values
  std::uint64_t seed = 0;          // of all random numbers; the same on all ranks
  std::size_t segment_elements_max =
      0;  // that travel as one frame; 0: chosen by the number of elements
};

struct ExchangeCall {
  std::uint64_t step = 0;
  float weight = 1;  // of this rank's values in the mean, such as its batch size

  // One span for each tensor. Values and mean may be the same memory, unless the own message is to
  // be compared with the values afterwards. A server that does not contribute gives empty spans.
  std::span<const std::span<const float>> values = {};
  std::span<const std::span<float>> means = {};
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

  // Returns at once. What the call points to must stay until finish() returns. Throws Error for
  // spans that do not fit the tensors, for a weight that is no number from 0 on, and where the last
  // call was not finished.
  virtual void start(const ExchangeCall& call) = 0;
  // Waits for the call that was started. Throws PeerError, and Error where none was.
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
};

// Compares everything that must be the same with all peers. Throws StartError where something is
// not, and Error for options that make no sense together.
std::unique_ptr<Exchange> make_exchange(Communicator& communicator, std::vector<TensorSize> tensors,
                                        const ExchangeOptions& options);

}  // namespace gradwire
