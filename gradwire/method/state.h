// MethodState: all data of one rank that a method's next step depends on, and its redistribution
// when the number of ranks changes. Value types and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/core/expected.h"

namespace gradwire {

// The owner of a memory. It decides what happens when the number of ranks changes.
enum class Sharing : std::uint8_t {
  worker = 1,      // one for each worker: every new rank gets their mean
  replicated = 2,  // the same on all ranks
  owner = 3,       // of the ranges that a rank owns: redistributed
};

// In the topology of a state whose memories are of parts of tensors, different ones on the ranks of
// a host: between the topology of a part's exchange and the layout of the hosts.
inline constexpr std::string_view kBetweenHosts = " between ";

struct StateTensor {
  std::string name;
  std::vector<std::size_t> shape;

  bool operator==(const StateTensor&) const = default;
};

struct StateArray {
  std::string memory;  // such as "error"
  std::string tensor;
  Sharing sharing = Sharing::worker;
  std::size_t first = 0;  // element of the tensor
  std::vector<float> values;

  bool operator==(const StateArray&) const = default;
};

struct MethodState {
  std::string spec;
  std::string topology;
  std::size_t rank = 0;
  std::size_t ranks = 1;
  std::vector<StateTensor> tensors;
  std::vector<StateArray> arrays;
  std::map<std::string, double> numbers;  // counters and such
  std::map<std::string, std::vector<std::byte>>
      blobs;                   // of no use to another rank or another number of ranks
  bool is_reshared = false;    // redistributed, so without blobs: lazy methods must upload once
  bool only_averages = false;  // of a dedicated server, which has no workers' memories

  bool operator==(const MethodState&) const = default;
};

// The array of a memory that starts at the first element of a tensor; null if there is none.
const StateArray* find_array(const MethodState& state, std::string_view memory,
                             std::string_view tensor);
// The same with `elements` elements. Throws Error if there is none.
const StateArray& whole_array(const MethodState& state, const std::string& memory,
                              const std::string& tensor, std::size_t elements);

// The differences between the present tensors and the saved ones, in words: "tensor 'a' has shape
// [3, 4], saved with [4, 3]; tensor 'b' was not saved; saved tensor 'c' is not here". Empty if they
// are equal.
std::string differences(std::span<const StateTensor> ours, std::span<const StateTensor> saved);

// Throws Error with the differences if a saved state does not belong to the method of `ours`: it
// must have the same spec, topology, tensors, rank and number of ranks. Arrays are not compared.
void check_state_fits(const MethodState& ours, const MethodState& saved);

// Redistributes: makes the state of `rank` among `ranks` from the states of all old ranks, in their
// order.
// - Where hosts have several ranks, an array is that of the ranks that hold its part. The new ranks
//   get all of them, and cut them anew.
// - Workers' memories: the mean over the old workers. If the number of ranks is the same, each rank
//   keeps its own memories and numbers; otherwise numbers are those of the first old worker.
// - Replicated memories are copied.
// - Owners' memories: all of them, sorted by tensor and first element, so that each rank finds the
//   ranges that it owns now.
// Throws Error if the old states contradict one another.
MethodState reshare(std::span<const MethodState> old, std::size_t rank, std::size_t ranks);

// To bytes and back, without loss. docs/wire_format.md has the layout.
std::vector<std::byte> to_bytes(const MethodState& state);
// Accepts any bytes, and returns a state or the reason why there is none.
Decoded<MethodState> parse_state(std::span<const std::byte> bytes);

}  // namespace gradwire
