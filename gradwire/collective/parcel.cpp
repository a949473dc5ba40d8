#include "gradwire/collective/parcel.h"

namespace gradwire {
namespace {

bool is_weight(float weight) { return std::isfinite(weight) && weight >= 0; }
DecodeError bad_weight() { return {"parcel has a weight that is none", 0}; }

}  // namespace

Decoded<ParcelReader> ParcelReader::open(std::span<const std::byte> bytes, std::size_t pieces) {
  if (bytes.size() < parcel_head_bytes(pieces)) {
    return Unexpected{DecodeError{"parcel ends inside its head", bytes.size()}};
  }
  ParcelReader reader;
  reader.bytes_ = bytes;
  reader.payload_at_ = parcel_head_bytes(pieces);
  if (!is_weight(reader.weight())) return Unexpected{bad_weight()};
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

Decoded<float> check_parcel_head(std::span<const std::byte> head,
                                 std::span<const std::size_t> lengths) {
  const auto weight = load_le<float>(head, 0);
  if (!is_weight(weight)) return Unexpected{bad_weight()};
  std::size_t at = kParcelWeightBytes;
  for (const std::size_t length : lengths) {
    if (load_le<std::uint32_t>(head, at) != length) {
      return Unexpected{DecodeError{"payload of another length than its values take", at}};
    }
    at += kParcelLengthBytes;
  }
  return weight;
}

}  // namespace gradwire
