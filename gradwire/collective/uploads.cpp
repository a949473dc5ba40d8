#include "gradwire/collective/uploads.h"

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {

void Uploads::commit() {
  for (const Noted& noted : noted_) {
    parcels_[noted.parcel_index].assign(noted.parcel.begin(), noted.parcel.end());
  }
  noted_.clear();
}

std::size_t Uploads::bytes() const {
  std::size_t bytes = 0;
  for (const auto& parcel : parcels_) bytes += parcel.size();
  return bytes;
}

// The number of parcels, then the length of each, then the parcels.
std::vector<std::byte> Uploads::save() const {
  std::vector<std::byte> saved((1 + parcels_.size()) * sizeof(std::uint64_t));
  store_le(std::span(saved), 0, std::uint64_t{parcels_.size()});
  for (std::size_t i = 0; i < parcels_.size(); ++i) {
    store_le(std::span(saved), (1 + i) * sizeof(std::uint64_t), std::uint64_t{parcels_[i].size()});
  }
  for (const auto& parcel : parcels_) saved.insert(saved.end(), parcel.begin(), parcel.end());
  return saved;
}

Decoded<void> Uploads::load(std::span<const std::byte> bytes,
                            std::span<const std::size_t> piece_counts) {
  GW_CHECK(piece_counts.size() == segments_);
  std::size_t at = (1 + parcels_.size()) * sizeof(std::uint64_t);
  if (bytes.size() < at || load_le<std::uint64_t>(bytes, 0) != parcels_.size()) {
    return Unexpected{DecodeError{"kept uploads are of other ranks or segments", 0}};
  }
  std::vector<std::vector<std::byte>> parcels(parcels_.size());
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    const auto length = load_le<std::uint64_t>(bytes, (1 + i) * sizeof(std::uint64_t));
    if (length > bytes.size() - at) {
      return Unexpected{DecodeError{"kept uploads end too early", bytes.size()}};
    }
    const auto parcel = bytes.subspan(at, length);
    if (length > 0) {
      const auto opened = ParcelReader::open(parcel, piece_counts[i % segments_]);
      if (!opened) return Unexpected{opened.error()};
    }
    parcels[i].assign(parcel.begin(), parcel.end());
    at += length;
  }
  if (at != bytes.size()) return Unexpected{DecodeError{"kept uploads have more bytes", at}};
  parcels_ = std::move(parcels);
  return {};
}

}  // namespace gradwire
