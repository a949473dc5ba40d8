#include "gradwire/codec/plane.h"

#include <cstring>

#include "gradwire/kernel/pack.h"

namespace gradwire {
namespace {

using kernel::kBlockElements;

bool needs_packing(const Plane& plane) {
  return plane.kind == Plane::Kind::trits || (plane.kind == Plane::Kind::symbols && plane.bits < 8);
}

}  // namespace

RawSymbols raw_symbols(const Plane& plane, BlockSymbols& block) {
  switch (plane.kind) {
    case Plane::Kind::bits:
      return {block.bits, 0};
    case Plane::Kind::wide:
      return {reinterpret_cast<std::uint8_t*>(block.wide), 2};
    case Plane::Kind::floats:
      return {reinterpret_cast<std::uint8_t*>(block.floats), 4};
    case Plane::Kind::symbols:
    case Plane::Kind::exponents:
    case Plane::Kind::trits:
      break;
  }
  return {block.symbols, 1};
}

std::size_t packed_block_bytes(const Plane& plane, std::size_t count) {
  switch (plane.kind) {
    case Plane::Kind::symbols:
      return kernel::packed_bytes(count, plane.bits);
    case Plane::Kind::exponents:
      return count;
    case Plane::Kind::trits:
      return kernel::packed_trit_bytes(count);
    case Plane::Kind::bits:
      return kernel::packed_bytes(count, 1);
    case Plane::Kind::wide:
      return 2 * count;
    case Plane::Kind::floats:
      break;
  }
  return 4 * count;
}

std::size_t packed_bytes(const Plane& plane, std::size_t count) {
  return count / kBlockElements * packed_block_bytes(plane, kBlockElements) +
         packed_block_bytes(plane, count % kBlockElements);
}

std::span<const std::byte> pack(const Plane& plane, std::size_t count, BlockSymbols& block) {
  const void* packed = block.packed;
  if (plane.kind == Plane::Kind::trits) {
    kernel::pack_trits(kernel::SymbolBlock(block.symbols), count,
                       kernel::SymbolBlock(block.packed));
  } else if (needs_packing(plane)) {
    kernel::pack_bits(kernel::SymbolBlock(block.symbols), count, plane.bits,
                      kernel::SymbolBlock(block.packed));
  } else {
    packed = raw_symbols(plane, block).memory;
  }
  if (plane.kind == Plane::Kind::bits && count % 8 != 0) {
    std::uint8_t& last = block.bits[count / 8];
    last = static_cast<std::uint8_t>(last & ((1u << count % 8) - 1));
  }
  return {static_cast<const std::byte*>(packed), packed_block_bytes(plane, count)};
}

void unpack(const Plane& plane, std::size_t count, std::span<const std::byte> packed,
            BlockSymbols& block) {
  if (!needs_packing(plane)) {
    std::memcpy(raw_symbols(plane, block).memory, packed.data(), packed.size());
    return;
  }
  std::memcpy(block.packed, packed.data(), packed.size());
  const kernel::ConstSymbolBlock from(block.packed);
  const kernel::SymbolBlock to(block.symbols);
  if (plane.kind == Plane::Kind::trits) {
    kernel::unpack_trits(from, count, to);
  } else {
    kernel::unpack_bits(from, count, plane.bits, to);
  }
}

}  // namespace gradwire
