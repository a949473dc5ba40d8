// The facts in a Scale. For codecs only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/core/random.h"

namespace gradwire {

struct Scale::Facts {
  std::size_t tensor_elements = 0;
  float value = 0;        // the one scale of codecs that scale the whole tensor
  bool poisoned = false;  // the tensor decodes to NaN everywhere
  bool finite = true;     // no NaN or infinity was met while measuring

  std::vector<std::uint8_t> signs;  // sign: all of them, so that the tensor is read only once

  // Sparsifiers: the kept elements. While several threads look for them, each share of the tensor
  // has a list of its own.
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  struct Share {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    bool finite = true;
  };
  std::vector<Share> shares;

  // randk: element j is kept if draws.at(j) <= last_draw.
  RandomStream draws;
  std::uint32_t last_draw = 0;

  // Of measure() itself.
  std::vector<std::uint32_t> sample;
  std::vector<std::uint32_t> scratch;
};

}  // namespace gradwire
