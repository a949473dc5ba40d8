#include "fuzz/round_trip.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "gradwire/core/check.h"

namespace gradwire::fuzz {
namespace {

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](const float& value) { return std::isfinite(value); });
}

// Where ranges begin and end: 0, some multiples of the bucket in order, the tensor's end. Equal
// neighbours make empty ranges.
std::vector<std::size_t> random_cuts(std::size_t elements, std::size_t bucket_elements,
                                     std::uint64_t seed) {
  const RandomStream random = Rng{.seed = seed}.stream(0, 0);
  const std::uint32_t count = random.at(0) >> 29;
  std::vector<std::size_t> cuts = {0, elements};
  for (std::uint32_t i = 1; i <= count; ++i) {
    const std::uint64_t places = elements / bucket_elements + 1;
    cuts.push_back((std::uint64_t{random.at(i)} * places >> 32) * bucket_elements);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// A payload in memory of its own size, so that a sanitizer sees every byte read behind it.
struct Payload {
  explicit Payload(std::size_t size) : memory(new std::byte[size]), bytes(memory.get(), size) {}

  std::unique_ptr<std::byte[]> memory;
  std::span<std::byte> bytes;
};

Payload resized(const Payload& payload, std::size_t size) {
  Payload result(size);
  std::fill(result.bytes.begin(), result.bytes.end(), std::byte{0});
  std::copy_n(payload.bytes.begin(), std::min(size, payload.bytes.size()), result.bytes.begin());
  return result;
}

class RoundTrip {
 public:
  RoundTrip(const Codec& codec, std::span<const float> tensor, std::uint64_t seed)
      : codec_(codec),
        tensor_(tensor),
        tensor_finite_(all_finite(tensor)),
        rng_{.seed = seed, .step = 1, .tensor = 2, .rank = 3} {
    codec_.measure(tensor_, rng_, scale_);
  }

  // The tensor, encoded and decoded in ranges from one cut to the next.
  std::vector<float> decoded(std::span<const std::size_t> cuts) {
    std::vector<float> values(tensor_.size());
    bool finite = scale_.is_finite();
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::size_t elements = cuts[i + 1] - cuts[i];
      const TensorRange range{tensor_.subspan(cuts[i], elements), cuts[i]};
      Payload room(codec_.payload_bytes_max(elements, tensor_.size()));
      const Encoded encoded = codec_.encode(scale_, range, rng_, room.bytes, workspace_);
      GW_CHECK(encoded.bytes <= room.bytes.size());
      finite &= encoded.finite;
      decode(resized(room, encoded.bytes), std::span(values).subspan(cuts[i], elements));
    }
    GW_CHECK(finite == tensor_finite_);
    GW_CHECK(finite == all_finite(values));
    return values;
  }

 private:
  void decode(const Payload& payload, std::span<float> target) {
    const std::size_t bytes = payload.bytes.size();
    GW_CHECK(!codec_.decode(resized(payload, bytes + 1).bytes, target, workspace_));
    GW_CHECK(bytes == 0 || !codec_.decode(resized(payload, bytes - 1).bytes, target, workspace_));
    GW_CHECK(codec_.decode(payload.bytes, target, workspace_));
  }

  const Codec& codec_;
  std::span<const float> tensor_;
  bool tensor_finite_;
  Rng rng_;
  Scale scale_;
  Workspace workspace_;
};

}  // namespace

void check_round_trip(const Codec& codec, std::span<const float> tensor, std::uint64_t seed) {
  RoundTrip round_trip(codec, tensor, seed);
  const std::vector<float> whole = round_trip.decoded(std::vector{std::size_t{0}, tensor.size()});
  const std::vector<float> cut =
      round_trip.decoded(random_cuts(tensor.size(), codec.bucket_elements(), seed));
  GW_CHECK(whole.empty() ||
           std::memcmp(whole.data(), cut.data(), whole.size() * sizeof(float)) == 0);
}

}  // namespace gradwire::fuzz
