#include "gradwire/transport/tcp_hello.h"

#include <algorithm>

#include "gradwire/core/bytes.h"

namespace gradwire {
namespace {

constexpr char kMagic[8] = {'g', 'w', 't', 'c', 'p', '\0', '\1', '\0'};
constexpr std::size_t kKeyAt = 8, kRankAt = 24, kPeerAt = 28, kLinkAt = 32, kLinksAt = 34,
                      kZeroAt = 36;

// In a time that does not tell how many bytes were right.
bool is_same(std::span<const std::byte> a, std::span<const std::byte> b) {
  std::byte difference{0};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

}  // namespace

TcpHello::Bytes TcpHello::write() const {
  Bytes bytes{};
  std::ranges::copy(std::as_bytes(std::span(kMagic)), bytes.begin());
  std::ranges::copy(key, bytes.begin() + kKeyAt);
  store_le(bytes, kRankAt, rank);
  store_le(bytes, kPeerAt, peer);
  store_le(bytes, kLinkAt, link);
  store_le(bytes, kLinksAt, links);
  return bytes;
}

std::optional<TcpHello> TcpHello::read(const Bytes& bytes, const GroupKey& key) {
  const std::span<const std::byte> all(bytes);
  if (!std::ranges::equal(all.first(kKeyAt), std::as_bytes(std::span(kMagic)))) return {};
  if (!is_same(all.subspan(kKeyAt, key.size()), key)) return {};
  if (load_le<std::uint32_t>(all, kZeroAt) != 0) return {};
  return TcpHello{.key = key,
                  .rank = load_le<std::uint32_t>(all, kRankAt),
                  .peer = load_le<std::uint32_t>(all, kPeerAt),
                  .link = load_le<std::uint16_t>(all, kLinkAt),
                  .links = load_le<std::uint16_t>(all, kLinksAt)};
}

}  // namespace gradwire
