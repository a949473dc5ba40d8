// A caller's mistakes are errors that say what was wrong; they do not end the program.
#include <gtest/gtest.h>

#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/core/error_test_support.h"

namespace gradwire {
namespace {

TEST(CodecMistakes, OfEncoding) {
  const std::vector<float> values(1000, 0.5F);
  for (const char* spec : {"natural", "topk(10%)"}) {
    SCOPED_TRACE(spec);
    const auto codec = make_codec(spec);
    Scale scale;
    Workspace workspace;
    const std::size_t bytes = codec->payload_bytes_max(values.size());
    std::vector<std::byte> payload(bytes);
    EXPECT_EQ(
        error_of(
            [&] { codec->encode(scale, {.values = values, .first = 0}, {}, payload, workspace); }),
        "a range of 1000 elements from element 0 is not within the measured tensor, which has "
        "0: call measure() with the whole tensor first");
    codec->measure(values, {}, scale);
    EXPECT_EQ(error_of([&] {
                codec->encode(scale, {.values = values, .first = 0}, {},
                              std::span(payload).first(bytes - 1), workspace);
              }),
              "a payload has room for " + std::to_string(bytes - 1) + " bytes, but may need " +
                  std::to_string(bytes) + ": see payload_bytes_max()");
  }
  const auto codec = make_codec("qsgd(bits=4, bucket=64)");
  Scale scale;
  Workspace workspace;
  codec->measure(values, {}, scale);
  std::vector<std::byte> payload(codec->payload_bytes_max(values.size()));
  EXPECT_EQ(error_of([&] {
              codec->encode(scale, {.values = std::span(values).subspan(65, 64), .first = 65}, {},
                            payload, workspace);
            }),
            codec->spec() +
                ": a range of 64 elements from element 65 is not cut at multiples of "
                "64, the codec's bucket_elements()");
}

}  // namespace
}  // namespace gradwire
