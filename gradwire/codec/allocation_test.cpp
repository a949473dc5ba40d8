// Steady work does not allocate: measured by counting every allocation of this program.
#include <atomic>
#include <cstdlib>

#include "gradwire/codec/test_support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GW_ALLOCATOR_IS_TAKEN 1
#else
#define GW_ALLOCATOR_IS_TAKEN 0
#endif

namespace {
std::atomic<std::size_t> allocations = 0;
}

#if !GW_ALLOCATOR_IS_TAKEN
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
}
#endif

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
