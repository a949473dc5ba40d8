#include "fuzz/repair.h"

#include <string_view>

#include "gradwire/core/bytes.h"
#include "gradwire/wire/frame.h"

namespace gradwire::fuzz {
namespace {

// Offsets as in docs/wire_format.md.
namespace frame_at {
constexpr std::size_t kFingerprint = 40;
constexpr std::size_t kPayloadBytes = 64;
constexpr std::size_t kChecksum = 72;
}  // namespace frame_at

namespace gw_at {
constexpr std::size_t kSpecBytes = 12;
constexpr std::size_t kDimensions = 16;
constexpr std::size_t kSpec = 48;
}  // namespace gw_at

// The header's length, after its checksum was made right.
std::optional<std::size_t> repair_gw_header(std::span<std::byte> bytes) {
  if (bytes.size() < gw_at::kSpec) return std::nullopt;
  const std::uint64_t spec_bytes = load_le<std::uint32_t>(bytes, gw_at::kSpecBytes);
  const std::uint64_t dimensions = load_le<std::uint32_t>(bytes, gw_at::kDimensions);
  const std::uint64_t checksum_at = gw_at::kSpec + spec_bytes + dimensions * sizeof(std::uint64_t);
  if (bytes.size() < checksum_at + sizeof(std::uint64_t)) return std::nullopt;
  store_le(bytes, checksum_at, checksum(bytes.first(checksum_at)));
  return checksum_at + sizeof(std::uint64_t);
}

}  // namespace

std::optional<std::size_t> repair_frame(std::span<std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  const auto payload_bytes = load_le<std::uint64_t>(bytes, frame_at::kPayloadBytes);
  if (bytes.size() - kFrameHeaderBytes < payload_bytes) return std::nullopt;
  const auto payload = bytes.subspan(kFrameHeaderBytes, payload_bytes);
  store_le(bytes, frame_at::kChecksum,
           checksum(payload, checksum(bytes.first(frame_at::kChecksum))));
  return kFrameHeaderBytes + payload.size();
}

std::optional<std::size_t> repair_frame(std::span<std::byte> bytes,
                                        std::uint64_t codec_fingerprint) {
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  store_le(bytes, frame_at::kFingerprint, codec_fingerprint);
  return repair_frame(bytes);
}

void repair_gw(std::span<std::byte> bytes) {
  const std::optional<std::size_t> header_bytes = repair_gw_header(bytes);
  if (!header_bytes) return;
  const auto spec = bytes.subspan(gw_at::kSpec, load_le<std::uint32_t>(bytes, gw_at::kSpecBytes));
  const std::uint64_t codec_fingerprint = checksum(spec);
  std::span<std::byte> rest = bytes.subspan(*header_bytes);
  while (const auto frame_bytes = repair_frame(rest, codec_fingerprint)) {
    rest = rest.subspan(*frame_bytes);
  }
}

}  // namespace gradwire::fuzz
