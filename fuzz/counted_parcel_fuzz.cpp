// Parcels with counted ranks behind them: any bytes say whom they count, at least one rank of those
// that exist, or they are refused with a reason.
#include <cstring>
#include <vector>

#include "fuzz/parcel_input.h"
#include "fuzz/target.h"
#include "gradwire/collective/counted_ranks.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  constexpr std::size_t kHeadBytes = kPieceCountBytes + kRankCountBytes;
  if (input.size() < kHeadBytes) return;
  const std::size_t pieces = load_le<std::uint16_t>(input, 0);
  const std::size_t ranks = load_le<std::uint16_t>(input, kPieceCountBytes);
  if (ranks == 0) return;
  // In memory of their own size, so that a sanitizer sees every byte read behind them.
  const std::vector<std::byte> bytes(input.begin() + kHeadBytes, input.end());
  CountedRanks counted(ranks);
  Decoded<ParcelReader> parcel = open_counted_parcel(bytes, pieces, counted);
  if (!parcel) {
    GW_CHECK(std::strlen(parcel.error().what) > 0);
    GW_CHECK(parcel.error().byte_offset <= bytes.size());
    return;
  }
  std::size_t at = parcel_head_bytes(pieces);
  for (std::size_t piece = 0; piece < pieces; ++piece) at += parcel->next().size();
  GW_CHECK(at + CountedRanks::bytes(ranks) == bytes.size());
  GW_CHECK(counted.count() > 0);
  std::vector<std::byte> written(CountedRanks::bytes(ranks));
  counted.write(written);
  GW_CHECK(std::memcmp(written.data(), bytes.data() + at, written.size()) == 0);
}

}  // namespace gradwire::fuzz
