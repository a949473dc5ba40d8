// How the sum of a host is cut into parts, one for each place: the ranks of a host that exchange it
// with other hosts. Pure functions; all ranks compute the same.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

// By place: at most one range of each tensor, in the order of the tensors. A place may have none.
std::vector<std::vector<TensorPiece>> cut_for_hosts(std::span<const MethodTensor> tensors,
                                                    HostParts how, std::size_t places);

// How many places send a host's message: at most all, and none a part of fewer bytes.
std::size_t sending_places(std::span<const MethodTensor> tensors, const Codec* up,
                           std::size_t part_bytes_min, std::size_t places);

// For exchanges.
std::vector<TensorSize> sizes_of(std::span<const MethodTensor> tensors);

// The shape of a range that cut_for_hosts() has cut.
std::vector<std::size_t> shape_of_part(const MethodTensor& tensor, const TensorPiece& part);

}  // namespace gradwire
