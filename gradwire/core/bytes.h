// Little-endian integers and floats in byte buffers, field by field. The caller has checked that
// there is room.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "gradwire/core/check.h"

namespace gradwire {

static_assert(std::endian::native == std::endian::little,
              "payload planes are copied as they lie in memory: a big-endian port must swap them");

template <class T>
concept WireScalar = std::integral<T> || std::same_as<T, float>;

template <WireScalar T>
T load_le(std::span<const std::byte> bytes, std::size_t offset) {
  GW_CHECK(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <WireScalar T>
void store_le(std::span<std::byte> bytes, std::size_t offset, T value) {
  GW_CHECK(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

}  // namespace gradwire
