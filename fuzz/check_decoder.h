// What holds for every decoder: any bytes are decoded or refused with a reason. Refused bytes leave
// the target as it was; decoded values depend on the bytes alone.
#pragma once

#include <cstddef>
#include <span>

#include "gradwire/codec/codec.h"

namespace gradwire::fuzz {

// The input is as decode_input.h has it. The workspace is one that inputs before it have used.
void check_decoder(const Codec& codec, std::span<const std::byte> input, Workspace& used_workspace);

}  // namespace gradwire::fuzz
