#include <dlfcn.h>

#include <thread>

#include "gtest/gtest.h"
#include "train/model_test_support.h"

namespace gradwire::train {
namespace {

TEST(OperationThreads, AreThoseOfMatrixProducts) {
  using GetThreads = int (*)();
  set_operation_threads(2);  // loads libtorch, and OpenBLAS with it
  const auto get = reinterpret_cast<GetThreads>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  if (get == nullptr) GTEST_SKIP() << "libtorch's matrix products are not OpenBLAS's here";
  EXPECT_EQ(get(), 2);
  set_operation_threads(1);
  EXPECT_EQ(get(), 1);
}

// Large enough for libtorch and OpenBLAS to share the work out.
std::vector<float> learn_twice(const char* spec, const data::SampleShape& shape) {
  set_operation_threads(2);
  const auto model = make_model(spec, shape, 1);
  for (const std::uint64_t seed : {1, 2}) model->learn(random_batch(shape, 16, seed), {}, 1, {});
  return copy_of(model->gradients());
}

TEST(OperationThreads, GiveTheSameBitsFromAnyThread) {
  const std::pair<const char*, data::SampleShape> cases[] = {
      {"mlp(hidden=256)", image_shape(1, 28)},
      {"cnn", image_shape(1, 28)},
      {"transformer(layers=1)", text_shape(64, 65)}};
  for (const auto& [spec, shape] : cases) {
    const auto expected = learn_twice(spec, shape);
    std::vector<float> results[2];
    {
      const std::jthread one([&] { results[0] = learn_twice(spec, shape); });
      const std::jthread two([&] { results[1] = learn_twice(spec, shape); });
    }
    EXPECT_EQ(results[0], expected) << spec;
    EXPECT_EQ(results[1], expected) << spec;
  }
  set_operation_threads(1);
}

}  // namespace
}  // namespace gradwire::train
