#include "gradwire/collective/parcel.h"

namespace gradwire {
namespace {

bool is_weight(float weight) { return std::isfinite(weight) && weight >= 0; }

Unexpected<DecodeError> no_head(std::size_t bytes) {
  return Unexpected{DecodeError{"parcel ends inside its head", bytes}};
}
Unexpected<DecodeError> no_weight() {
  return Unexpected{DecodeError{"parcel has an invalid weight", 0}};
}
Unexpected<DecodeError> too_short(std::size_t bytes) {
  return Unexpected{DecodeError{"parcel is shorter than its payloads", bytes}};
}
Unexpected<DecodeError> too_long(std::size_t payloads_end) {
  return Unexpected{DecodeError{"parcel is longer than its payloads", payloads_end}};
}

}  // namespace

Decoded<ParcelReader> ParcelReader::open(std::span<const std::byte> bytes, std::size_t pieces) {
  if (bytes.size() < parcel_head_bytes(pieces)) return no_head(bytes.size());
  ParcelReader reader;
  reader.bytes_ = bytes;
  reader.payload_at_ = parcel_head_bytes(pieces);
  if (!is_weight(reader.weight())) return no_weight();
  std::size_t left = bytes.size() - reader.payload_at_;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t length = reader.length(piece);
    if (length > left) return too_short(bytes.size());
    left -= length;
  }
  if (left > 0) return too_long(bytes.size() - left);
  return reader;
}

Decoded<float> check_parcel_head(std::span<const std::byte> head, std::size_t parcel_bytes,
                                 std::span<const std::size_t> lengths) {
  std::size_t expected = parcel_head_bytes(lengths.size());
  if (parcel_bytes < expected) return no_head(parcel_bytes);
  const auto weight = load_le<float>(head, 0);
  if (!is_weight(weight)) return no_weight();
  for (std::size_t piece = 0; piece < lengths.size(); ++piece) {
    const std::size_t at = kParcelWeightBytes + piece * kParcelLengthBytes;
    if (load_le<std::uint32_t>(head, at) != lengths[piece]) {
      return Unexpected{DecodeError{"payload of another length than its values take", at}};
    }
    expected += lengths[piece];
  }
  if (parcel_bytes < expected) return too_short(parcel_bytes);
  if (parcel_bytes > expected) return too_long(expected);
  return weight;
}

}  // namespace gradwire
