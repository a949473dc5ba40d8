#include "gradwire/collective/parcel.h"

namespace gradwire {

Decoded<ParcelReader> ParcelReader::open(std::span<const std::byte> bytes, std::size_t pieces) {
  if (bytes.size() < parcel_head_bytes(pieces)) {
    return Unexpected{DecodeError{"parcel ends inside its head", bytes.size()}};
  }
  ParcelReader reader;
  reader.bytes_ = bytes;
  reader.payload_at_ = parcel_head_bytes(pieces);
  if (!std::isfinite(reader.weight()) || reader.weight() < 0) {
    return Unexpected{DecodeError{"parcel has a weight that is none", 0}};
  }
  std::size_t left = bytes.size() - reader.payload_at_;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t length = reader.length(piece);
    if (length > left) {
      return Unexpected{DecodeError{"parcel is shorter than its payloads", bytes.size()}};
    }
    left -= length;
  }
  if (left > 0) {
    return Unexpected{DecodeError{"parcel is longer than its payloads", bytes.size() - left}};
  }
  return reader;
}

}  // namespace gradwire
