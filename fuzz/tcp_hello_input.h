// The key of the group whose hellos the target tcp_hello reads.
#pragma once

#include "gradwire/transport/tcp_hello.h"

namespace gradwire::fuzz {

inline constexpr GroupKey kFuzzGroupKey = {std::byte{1}, std::byte{2}, std::byte{3}};

}  // namespace gradwire::fuzz
