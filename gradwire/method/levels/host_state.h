// The state of a two-level method: that of the method of this rank's part, with ranges of whole
// tensors instead of parts. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"
#include "gradwire/method/state.h"

namespace gradwire {

// The arrays of a part's state, as ranges of the tensors that the parts are of. `parts` has the
// range of each of the part's tensors.
void to_whole_tensors(MethodState& state, std::span<const TensorPiece> parts,
                      const std::vector<MethodTensor>& tensors);

// The reverse, for any parts: of each array what belongs to these. An array that is not as long as
// its tensor, such as a factor, belongs to whom the whole tensor belongs.
void to_parts(MethodState& state, std::span<const TensorPiece> parts,
              const std::vector<MethodTensor>& tensors);

}  // namespace gradwire
