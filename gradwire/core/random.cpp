#include "gradwire/core/random.h"

namespace gradwire {
namespace {

constexpr std::uint32_t kSharedRank = 0xffffffffu;

// One round of a 64-bit mixer (Stafford's variant 13): every input bit reaches every output bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 31;
  return x;
}

constexpr std::uint64_t absorb(std::uint64_t state, std::uint64_t word) {
  return mix64(state ^ mix64(word + 0x9e3779b97f4a7c15u)) + 0x9e3779b97f4a7c15u;
}

}  // namespace

Rng Rng::shared() const {
  Rng same = *this;
  same.rank = kSharedRank;
  return same;
}

RandomStream Rng::stream(std::uint32_t stage, std::uint64_t first) const {
  std::uint64_t key = absorb(0, seed);
  key = absorb(key, step);
  key = absorb(key, tensor);
  key = absorb(key, std::uint64_t{rank} << 32 | static_cast<std::uint32_t>(purpose));
  key = absorb(key, stage);
  const RandomStream from_zero{static_cast<std::uint32_t>(key),
                               static_cast<std::uint32_t>(key >> 32) | 1};
  return from_zero.advanced(first);
}

std::uint64_t Rng::tensor_id(std::string_view name) {
  std::uint64_t id = absorb(0, name.size());
  for (const char letter : name) id = absorb(id, static_cast<unsigned char>(letter));
  return id;
}

}  // namespace gradwire
