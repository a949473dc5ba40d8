#include "reproduce/recorded_layers.h"

#include "bench/gradients.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/gradient_files.h"

namespace gradwire::reproduce {
namespace {

class RecordedFiles : public testing::Test {
 protected:
  RecordedFiles() {
    record::write_shapes(shapes_, std::vector<MethodTensor>{
                                      {"conv", {32, 27}}, {"bias", {32}}, {"wide", {64, 128}}});
    std::vector<float> values(32 * 27 + 32 + 64 * 128);
    bench::fill_gradients({.seed = 1, .purpose = Purpose::data}, values);
    record::write_gradients(gradients_, std::vector<std::span<const float>>{values});
  }

  const TestDirectory directory_;
  const std::string gradients_ = directory_ / "g.f32";
  const std::string shapes_ = directory_ / "shapes.json";
};

class RecordedLayersOf : public RecordedFiles, public testing::WithParamInterface<Family> {};

TEST_P(RecordedLayersOf, APlanIsNoWorseThanTheUniformSetting) {
  const RecordedLayers layers = read_layers(gradients_, shapes_, GetParam());
  ASSERT_EQ(layers.tensors.size(), 2u);  // the bias is left out
  const LayerPlan plan = plan_for(layers, 1);
  const LayerPlan uniform = uniform_plan(layers, layers.candidates.uniform);
  EXPECT_DOUBLE_EQ(uniform.error, plan.uniform_error);
  EXPECT_DOUBLE_EQ(uniform.bytes, plan.uniform_bytes);
  EXPECT_LE(plan.error, uniform.error);
  EXPECT_LE(plan.bytes, uniform.bytes);
}

TEST_P(RecordedLayersOf, MoreErrorTakesNoMoreBytes) {
  const RecordedLayers layers = read_layers(gradients_, shapes_, GetParam());
  EXPECT_LE(plan_for(layers, 1.5).bytes, plan_for(layers, 1).bytes);
  EXPECT_LE(plan_for(layers, 1).bytes, plan_for(layers, 0.5).bytes);
}

INSTANTIATE_TEST_SUITE_P(Family, RecordedLayersOf,
                         testing::Values(Family::qsgd, Family::topk, Family::powersgd));

TEST_F(RecordedFiles, BitsAreThoseOfTheChoice) {
  const RecordedLayers layers = read_layers(gradients_, shapes_, Family::qsgd);
  const LayerPlan exact = uniform_plan(layers, 0);
  EXPECT_DOUBLE_EQ(exact.error, 0);
  EXPECT_NEAR(bits_a_value(layers, exact, 1), 32, 0.1);
  const LayerPlan four = uniform_plan(layers, layers.candidates.uniform);
  EXPECT_NEAR(bits_a_value(layers, four, 1), 4.06, 0.05);
}

}  // namespace
}  // namespace gradwire::reproduce
