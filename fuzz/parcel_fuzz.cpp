// Parcels: any bytes are a parcel of as many pieces as are asked for, whose payloads fill it, or
// they are refused with a reason.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "fuzz/parcel_input.h"
#include "fuzz/target.h"
#include "gradwire/collective/parcel.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {
namespace {

void check_parcel(std::span<const std::byte> bytes, std::size_t pieces) {
  Decoded<ParcelReader> reader = ParcelReader::open(bytes, pieces);
  if (!reader) {
    GW_CHECK(std::strlen(reader.error().what) > 0);
    GW_CHECK(reader.error().byte_offset <= bytes.size());
    return;
  }
  GW_CHECK(std::isfinite(reader->weight()) && reader->weight() >= 0);

  // The payloads follow one another from the head to the end, and writing them gives the same
  // bytes.
  std::vector<std::byte> written(bytes.size());
  ParcelWriter writer(written, pieces, reader->weight());
  std::size_t at = parcel_head_bytes(pieces);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::span<const std::byte> payload = reader->next();
    GW_CHECK(payload.size() <= bytes.size() - at);
    GW_CHECK(payload.data() == bytes.data() + at);
    std::copy(payload.begin(), payload.end(), writer.room().begin());
    writer.add(payload.size());
    at += payload.size();
  }
  GW_CHECK(at == bytes.size());
  GW_CHECK(writer.bytes().size() == bytes.size());
  GW_CHECK(std::equal(bytes.begin(), bytes.end(), written.begin()));
}

// The last length becomes what is left: otherwise few mutations would get past the sum of lengths.
void repair_last_length(std::span<std::byte> bytes, std::size_t pieces) {
  std::size_t rest = bytes.size() - parcel_head_bytes(pieces);
  std::size_t at = kParcelWeightBytes;
  for (std::size_t piece = 0; piece + 1 < pieces; ++piece, at += kParcelLengthBytes) {
    const std::size_t length = std::min<std::size_t>(load_le<std::uint32_t>(bytes, at), rest);
    store_le(bytes, at, static_cast<std::uint32_t>(length));
    rest -= length;
  }
  store_le(bytes, at, static_cast<std::uint32_t>(rest));
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  if (input.size() < kPieceCountBytes) return;
  const std::size_t pieces = load_le<std::uint16_t>(input, 0);
  // In memory of their own size, so that a sanitizer sees every byte read behind them.
  std::vector<std::byte> bytes(input.begin() + kPieceCountBytes, input.end());
  check_parcel(bytes, pieces);
  for (const std::size_t few : {0u, 1u, 2u, 3u}) check_parcel(bytes, few);
  if (pieces == 0 || bytes.size() < parcel_head_bytes(pieces)) return;
  repair_last_length(bytes, pieces);
  check_parcel(bytes, pieces);
}

}  // namespace gradwire::fuzz
