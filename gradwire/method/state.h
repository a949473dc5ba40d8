// MethodState: everything that a method's next step depends on, as one rank has it, and how it is
// dealt out anew when the number of ranks changes. Value types and pure functions.
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

// Whose a memory is, and with that what becomes of it when the number of ranks changes.
enum class Sharing : std::uint8_t {
  worker = 1,      // each worker's own: every new rank takes the mean
  replicated = 2,  // the same on all ranks
  owner = 3,       // of the ranges that a rank owns: cut anew
};

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
  std::map<std::string, double> numbers;                // counters and such
  std::map<std::string, std::vector<std::byte>> blobs;  // mean nothing to other ranks or groups
  bool is_reshared = false;                             // no blobs: lazy methods upload once
  bool only_averages = false;  // of a server that only averages: it has no workers' memories

  bool operator==(const MethodState&) const = default;
};

// What a state has of a memory from the first element of a tensor on; null where that is nothing.
const StateArray* find_array(const MethodState& state, std::string_view memory,
                             std::string_view tensor);
// The same of so many elements. Throws Error where it has not.
const StateArray& whole_array(const MethodState& state, const std::string& memory,
                              const std::string& tensor, std::size_t elements);

// How the tensors here and those that were saved differ, in words: "tensor 'a' has shape [3, 4],
// saved with [4, 3]; tensor 'b' was not saved; saved tensor 'c' is not here". Empty if they are
// equal.
std::string differences(std::span<const StateTensor> ours, std::span<const StateTensor> saved);

// Whether a saved state is one of the method that `ours` describes, whose arrays do not matter: the
// same spec, topology, tensors and place among the ranks. Throws Error that lists what differs.
void check_state_fits(const MethodState& ours, const MethodState& saved);

// The state of `rank` among `ranks`, made of the states of all old ranks, in their order. Workers'
// memories keep their mean: every new rank takes it, or, where there are as many ranks as before,
// its own. Replicated ones are taken over, and owners' are all given, sorted by tensor and first
// element, so that each rank finds what it owns now. Numbers are those of the first old worker, or
// the rank's own where it keeps its memories. Throws Error where the old states do not fit
// together.
MethodState reshare(std::span<const MethodState> old, std::size_t rank, std::size_t ranks);

// Bytes and back, exact; the layout is in docs/wire_format.md.
std::vector<std::byte> to_bytes(const MethodState& state);
// Bytes that nobody vouches for: any bytes give a state or the reason why not.
Decoded<MethodState> parse_state(std::span<const std::byte> bytes);

}  // namespace gradwire
