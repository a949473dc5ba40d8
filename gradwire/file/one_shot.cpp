#include "gradwire/file/one_shot.h"

#include "gradwire/codec/codec.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/file/gw_file.h"

namespace gradwire {

std::vector<std::byte> encode(std::string_view spec, std::span<const float> values,
                              std::uint64_t seed) {
  const auto codec = make_codec(spec);
  ThreadPool pool(1);
  return gw_bytes({.values = {values.begin(), values.end()}}, *codec, seed, pool);
}

std::vector<float> decode(std::span<const std::byte> bytes) {
  ThreadPool pool(1);
  return decode_gw(parse_gw_file("encoded bytes", {bytes.begin(), bytes.end()}), pool).values;
}

}  // namespace gradwire
