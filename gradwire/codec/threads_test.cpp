// Threads share the measuring of large tensors, and change nothing.
#include "gradwire/codec/test_support.h"
#include "gradwire/core/thread_pool.h"

namespace gradwire {
namespace {

// More elements than a tensor must have to be shared.
constexpr std::size_t kElements = 300'001;

TEST(MeasureThread, PayloadsDoNotDependOnTheNumberOfThreads) {
  const std::vector<float> tensor = heavy_tailed(kElements, 3);
  const Rng rng{.seed = 5, .step = 9, .rank = 1};
  for (const std::string& spec : tested_specs()) {
    SCOPED_TRACE(spec);
    CodecTest alone(spec);
    alone.codec->measure(tensor, rng, alone.scale);
    const auto expected = alone.encode({.values = tensor, .first = 0}, rng);
    for (const std::size_t threads : {2, 3}) {
      ThreadPool pool(threads);
      CodecTest shared(spec);
      shared.codec->measure(tensor, rng, shared.scale, pool);
      EXPECT_EQ(shared.encode({.values = tensor, .first = 0}, rng), expected);
    }
  }
}

TEST(MeasureThread, ValuesThatAreNotFiniteAreFoundInEveryShare) {
  ThreadPool pool(2);
  for (const char* spec : {"topk(1%)", "threshold(0.01)", "randk(1%)"}) {
    for (const std::size_t bad : {std::size_t{0}, kElements / 2, kElements - 1}) {
      std::vector<float> tensor = heavy_tailed(kElements, 3);
      tensor[bad] = std::numeric_limits<float>::infinity();
      CodecTest test(spec);
      test.codec->measure(tensor, Rng{.seed = 5}, test.scale, pool);
      EXPECT_FALSE(test.scale.is_finite()) << spec << ", element " << bad;
    }
  }
}

TEST(MeasureThread, RangesCollectedApartAreThoseCollectedInARow) {
  std::vector<float> tensor(10'000);
  for (std::size_t i = 0; i < tensor.size(); i += 37) tensor[i] = 1.0F / static_cast<float>(i + 1);
  const std::span<const float> values = tensor;
  const auto codec = make_codec("topk(1%)");
  const TensorRange first{.values = values.first(4096), .first = 0};
  const TensorRange second{.values = values.subspan(4096), .first = 4096};
  Scale row, joined, part;
  row.reset(tensor.size());
  codec->collect(first, row);
  codec->collect(second, row);
  codec->finish_collecting(row);
  joined.reset(tensor.size());
  for (const TensorRange& range : {first, second}) {
    part.reset(tensor.size());
    codec->collect(range, part);
    codec->collect(part, joined);
  }
  codec->finish_collecting(joined);
  Workspace workspace;
  std::vector<std::byte> payload(codec->payload_bytes_max(tensor.size()));
  std::vector<std::byte> other = payload;
  const Rng rng{.seed = 1};
  const TensorRange all{.values = values, .first = 0};
  payload.resize(codec->encode(row, all, rng, payload, workspace).bytes);
  other.resize(codec->encode(joined, all, rng, other, workspace).bytes);
  EXPECT_EQ(payload, other);
}

}  // namespace
}  // namespace gradwire
