// SharedIndices: which values of a step are sent, chosen by one rank, the leader, for all. Its
// message is what a sparse codec makes of its own values, layer by layer: from the decoded values
// all ranks know the indices, the leader's signs there, and about how large its values are. Divided
// by that, a rank's values are of the same size in all layers, and times the leader's signs their
// mean is not zero: both make them easier to code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/selection.h"
#include "gradwire/core/expected.h"

namespace gradwire {

struct SharedIndices {
  std::vector<std::uint32_t> at;  // elements of all layers' values, one layer after the other
  std::vector<float> units;       // with the leader's sign; not 0

  std::size_t size() const { return at.size(); }
};

// A value in units, as far as a code need follow it: what is left of a very large one stays with
// its rank.
float in_units(float value, float unit);

// Values at the indices, in units.
std::vector<float> pick(const SharedIndices& indices, std::span<const float> values);

class IndexMessage {
 public:
  // `elements` of every layer, of which the largest are chosen; `values` is the codec of the
  // leader's values there, such as "sign".
  IndexMessage(std::vector<std::size_t> elements, double share, const std::string& values);

  std::size_t indices_max() const;
  std::size_t bytes_max() const;

  struct Written {
    std::vector<std::byte> bytes;
    bool is_finite = true;
  };
  Written write(std::span<const float> values, const Rng& rng);

  // Bytes that came from the leader: the indices, or why they are no such message.
  Decoded<SharedIndices> read(std::span<const std::byte> message);

 private:
  std::size_t indices_max(std::size_t elements) const { return count_of_share(share_, elements); }

  std::vector<std::size_t> elements_;
  double share_;
  std::shared_ptr<const Codec> codec_;
  Scale scale_;
  Workspace workspace_;
  std::vector<float> decoded_;  // of the largest layer
};

}  // namespace gradwire
