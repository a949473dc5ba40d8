// The sum of floats over all ranks of a transport, uncompressed, by a ring: what a transport
// without a sum of its own offers as the yardstick. Blocks.
#pragma once

#include <span>

#include "gradwire/transport/transport.h"

namespace gradwire {

// All ranks call it with as many values. Throws PeerError.
void ring_allreduce(Transport& transport, std::span<float> values);

}  // namespace gradwire
