#include "gradwire/collective/counted_ranks.h"

#include <algorithm>

#include "gradwire/core/check.h"

namespace gradwire {

void CountedRanks::clear() { std::ranges::fill(is_counted_, std::uint8_t{0}); }

std::size_t CountedRanks::count() const {
  return static_cast<std::size_t>(std::ranges::count(is_counted_, std::uint8_t{1}));
}

void CountedRanks::write(std::span<std::byte> out) const {
  GW_CHECK(out.size() == bytes(ranks()));
  std::ranges::fill(out, std::byte{0});
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    if (has(rank)) out[rank / 8] |= std::byte{1} << (rank % 8);
  }
}

Decoded<void> CountedRanks::read(std::span<const std::byte> in) {
  if (in.size() != bytes(ranks())) {
    return Unexpected{DecodeError{"counted ranks take another number of bytes", 0}};
  }
  clear();
  for (std::size_t bit = 0; bit < 8 * in.size(); ++bit) {
    if ((in[bit / 8] >> (bit % 8) & std::byte{1}) == std::byte{0}) continue;
    if (bit >= ranks())
      return Unexpected{DecodeError{"counts a rank that does not exist", bit / 8}};
    add(bit);
  }
  if (count() == 0) return Unexpected{DecodeError{"counts no rank", 0}};
  return {};
}

Decoded<ParcelReader> open_counted_parcel(std::span<const std::byte> payload, std::size_t pieces,
                                          CountedRanks& counted) {
  const std::size_t tail = CountedRanks::bytes(counted.ranks());
  if (payload.size() < tail) {
    return Unexpected{DecodeError{"payload ends before it says whom it counts", payload.size()}};
  }
  const std::size_t parcel_bytes = payload.size() - tail;
  const auto parcel = ParcelReader::open(payload.first(parcel_bytes), pieces);
  if (!parcel) return parcel;
  if (const auto read = counted.read(payload.last(tail)); !read) {
    return Unexpected{DecodeError{read.error().what, parcel_bytes + read.error().byte_offset}};
  }
  return parcel;
}

}  // namespace gradwire
