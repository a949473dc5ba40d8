// Steady work does not allocate: measured by counting every allocation of this program.

#include "gradwire/codec/test_support.h"
#include "gradwire/core/allocation_test_support.h"

namespace gradwire {
namespace {

TEST(Allocation, EncodeAndDecodeDoNotAfterWarmUp) {
  if (GW_ALLOCATOR_IS_TAKEN) GTEST_SKIP() << "a sanitizer counts allocations by itself";
  const std::vector<float> tensor = heavy_tailed(300000, 1);
  std::vector<float> target(tensor.size());
  for (const std::string& spec : tested_specs()) {
    CodecTest test(spec);
    std::vector<std::byte> payload(test.codec->payload_bytes_max(tensor.size()));
    const auto work = [&](std::uint64_t step) {
      const Rng rng{.seed = 1, .step = step};
      test.codec->measure(tensor, rng, test.scale);
      const Encoded encoded =
          test.codec->encode(test.scale, {tensor, 0}, rng, payload, test.workspace);
      const auto bytes = std::span(payload).first(encoded.bytes);
      ASSERT_TRUE(test.codec->decode(bytes, target, test.workspace));
      ASSERT_TRUE(test.codec->decode_add(bytes, 0.5f, target, test.workspace));
    };
    for (std::uint64_t step = 0; step < 3; ++step) work(step);
    const std::size_t before = allocations;
    for (std::uint64_t step = 3; step < 8; ++step) work(step);
    EXPECT_EQ(allocations - before, 0u) << spec;
  }
}

}  // namespace
}  // namespace gradwire
