#include "train/model.h"

#include <cmath>
#include <cstring>
#include <thread>

#include "gradwire/core/error.h"
#include "gtest/gtest.h"
#include "train/model_test_support.h"

namespace gradwire::train {
namespace {

using data::Batch;

constexpr Draw kDraw{.seed = 5, .step = 7, .rank = 1};

class EveryModel : public testing::TestWithParam<ModelCase> {
 protected:
  EveryModel() { set_operation_threads(1); }

  std::unique_ptr<Model> make(std::uint64_t seed = 1) const {
    return make_model(GetParam().spec, GetParam().shape, seed);
  }
  Batch batch(std::size_t samples = 8, std::uint64_t seed = 1) const {
    return random_batch(GetParam().shape, samples, seed);
  }
};

INSTANTIATE_TEST_SUITE_P(Families, EveryModel, testing::ValuesIn(model_cases()), case_name);

TEST_P(EveryModel, HasItsParametersOneAfterTheOther) {
  const auto model = make();
  std::size_t first = 0;
  for (const Parameter& parameter : model->parameters()) {
    EXPECT_EQ(parameter.first, first) << parameter.name;
    std::size_t elements = 1;
    for (const std::size_t size : parameter.shape) elements *= size;
    EXPECT_EQ(parameter.elements, elements) << parameter.name;
    first += elements;
  }
  EXPECT_EQ(model->values().size(), first);
  EXPECT_EQ(model->gradients().size(), first);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(model->values().data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(model->gradients().data()) % 64, 0U);
}

TEST_P(EveryModel, BeginsWithWeightsThatDependOnTheSeedAlone) {
  const auto weights = copy_of(make(3)->values());
  EXPECT_EQ(weights, copy_of(make(3)->values()));
  EXPECT_NE(weights, copy_of(make(4)->values()));
}

TEST_P(EveryModel, ReportsEveryParameterOnceAndTheLastLayerFirst) {
  const auto model = make();
  for (int step = 0; step < 2; ++step) {
    std::vector<std::size_t> reported;
    model->learn(batch(), kDraw, 1, [&](std::size_t i) { reported.push_back(i); });
    ASSERT_FALSE(reported.empty());
    EXPECT_TRUE(model->parameters()[reported.front()].name.starts_with(GetParam().last_layer));
    std::ranges::sort(reported);
    ASSERT_EQ(reported.size(), model->parameters().size());
    for (std::size_t i = 0; i < reported.size(); ++i) EXPECT_EQ(reported[i], i);
  }
}

TEST_P(EveryModel, HasAGradientCompleteWhenItReportsIt) {
  const auto model = make();
  std::vector<float> seen(model->gradients().size());
  model->learn(batch(), kDraw, 1, [&](std::size_t i) {
    const auto& [name, shape, first, elements] = model->parameters()[i];
    std::ranges::copy(model->gradients().subspan(first, elements),
                      seen.begin() + static_cast<std::ptrdiff_t>(first));
  });
  EXPECT_EQ(seen, copy_of(model->gradients()));
}

TEST_P(EveryModel, LetsErrorsOfTheReportThroughAndLearnsOn) {
  const auto model = make();
  const auto fail_at = [&](std::size_t failing) {
    model->learn(batch(), kDraw, 1, [=](std::size_t i) {
      if (i == failing) throw Error("the network is down");
    });
  };
  EXPECT_THROW(fail_at(0), Error);
  EXPECT_THROW(fail_at(model->parameters().size() / 2), Error);
  std::size_t reported = 0;
  model->learn(batch(), kDraw, 1, [&](std::size_t) { ++reported; });
  EXPECT_EQ(reported, model->parameters().size());
}

TEST_P(EveryModel, AddsToItsGradientsInPlace) {
  const auto model = make();
  model->learn(batch(), kDraw, 1, {});
  const auto once = copy_of(model->gradients());
  EXPECT_GT(std::ranges::count_if(once, [](float g) { return g != 0; }), 0);
  model->learn(batch(), kDraw, 1, {});
  model->learn(batch(), kDraw, 1, {});
  for (std::size_t i = 0; i < once.size(); ++i) {
    ASSERT_FLOAT_EQ(model->gradients()[i], 3 * once[i]) << i;
  }
}

TEST_P(EveryModel, HalvesOfABatchWithHalfTheFactorGiveTheMeanOfTheirGradients) {
  const auto model = make();
  const Batch halves[] = {batch(4, 1), batch(4, 2)};
  std::vector<float> mean(model->gradients().size());
  for (const Batch& half : halves) {
    std::ranges::fill(model->gradients(), 0.0F);
    model->learn(half, kDraw, 1, {});
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += model->gradients()[i] / 2;
  }
  std::ranges::fill(model->gradients(), 0.0F);
  for (const Batch& half : halves) model->learn(half, kDraw, 0.5F, {});
  for (std::size_t i = 0; i < mean.size(); ++i) {
    ASSERT_NEAR(model->gradients()[i], mean[i], 1e-6 + 1e-4 * std::abs(mean[i])) << i;
  }
}

TEST_P(EveryModel, LeavesEverythingAsItIsForAnEmptyBatch) {
  const auto model = make();
  model->learn(batch(), kDraw, 1, {});
  const auto gradients = copy_of(model->gradients());
  const auto statistics = copy_of(model->statistics());
  std::size_t reported = 0;
  const Score score = model->learn(Batch{}, kDraw, 1, [&](std::size_t) { ++reported; });
  EXPECT_EQ(score.count, 0U);
  EXPECT_EQ(score.loss, 0);
  EXPECT_EQ(reported, model->parameters().size());
  EXPECT_EQ(gradients, copy_of(model->gradients()));
  EXPECT_EQ(statistics, copy_of(model->statistics()));
  EXPECT_EQ(model->evaluate(Batch{}).count, 0U);
}

TEST_P(EveryModel, EvaluatesSumsOverSamplesAndChangesNothing) {
  const auto model = make();
  model->learn(batch(), kDraw, 1, {});
  const auto gradients = copy_of(model->gradients());
  const auto statistics = copy_of(model->statistics());
  const Score first = model->evaluate(batch(8));
  const Score again = model->evaluate(batch(8));
  EXPECT_EQ(first.loss, again.loss);
  EXPECT_EQ(first.correct, again.correct);
  EXPECT_EQ(first.count, batch(8).targets.size());
  EXPECT_LE(first.correct, first.count);
  // A guess without knowledge costs log(classes) a sample; first weights are not far from that.
  EXPECT_GT(first.loss / static_cast<double>(first.count), 0.5);
  EXPECT_LT(first.loss / static_cast<double>(first.count), 10);
  EXPECT_EQ(gradients, copy_of(model->gradients()));
  EXPECT_EQ(statistics, copy_of(model->statistics()));
}

TEST_P(EveryModel, LearnsAFixedBatchByPlainSteps) {
  const auto model = make();
  const Batch fixed = batch(4);
  const double before = model->learn(fixed, kDraw, 1, {}).loss;
  Score after;
  for (int step = 0; step < 30; ++step) {
    std::ranges::fill(model->gradients(), 0.0F);
    after = model->learn(fixed, kDraw, 1, {});
    const auto gradients = model->gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i) model->values()[i] -= 0.05F * gradients[i];
  }
  EXPECT_LT(after.loss, 0.9 * before);
}

TEST_P(EveryModel, GivesTheSameBitsFromAnyThreadAtAnyTime) {
  constexpr int kSteps = 3;
  const auto run = [&](std::vector<float>& result) {
    set_operation_threads(1);
    const auto model = make();
    for (int step = 0; step < kSteps; ++step) {
      model->learn(batch(8, static_cast<std::uint64_t>(step)), kDraw, 1, {});
    }
    result = copy_of(model->gradients());
    for (const float statistic : model->statistics()) result.push_back(statistic);
  };
  std::vector<float> results[4];
  run(results[0]);
  {
    const std::jthread one([&] { run(results[1]); });
    const std::jthread two([&] { run(results[2]); });
  }
  run(results[3]);
  for (const auto& result : results) {
    ASSERT_EQ(result.size(), results[0].size());
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)), 0);
  }
}

std::size_t elements(const char* spec, const data::SampleShape& shape) {
  return make_model(spec, shape, 1)->values().size();
}

TEST(Model, HasAsManyParametersAsPublished) {
  EXPECT_EQ(elements("mlp", image_shape(1, 28)), 407'050U);
  EXPECT_EQ(elements("mlp(hidden=1024, layers=3)", image_shape(1, 28)), 2'913'290U);
  EXPECT_EQ(elements("cnn", image_shape(1, 28)), 409'034U);
  EXPECT_EQ(elements("resnet20", image_shape(3, 32)), 269'722U);
  EXPECT_EQ(elements("resnet18", image_shape(3, 32)), 11'173'962U);
  // 65 x 128 twice, 128 x 128 positions, 4 layers of 198,272, and a norm.
  EXPECT_EQ(elements("transformer", text_shape(128, 65)), 826'368U);
  EXPECT_EQ(elements("transformer(tied=on)", text_shape(128, 65)), 818'048U);
}

TEST(Model, CallsResNetsParametersAsOthersDo) {
  const auto names_of = [](const char* spec) {
    const auto model = make_model(spec, image_shape(3, 32), 1);
    std::vector<std::string> names;
    for (const Parameter& parameter : model->parameters()) names.push_back(parameter.name);
    return names;
  };
  const auto small = names_of("resnet20");
  EXPECT_EQ(small.size(), 59U);
  EXPECT_EQ(small.front(), "f.bias");
  EXPECT_EQ(small[2], "l.8.b2.bias");
  EXPECT_EQ(small.back(), "c.weight");
  const auto large = names_of("resnet18(width=8)");
  EXPECT_EQ(large.size(), 62U);
  EXPECT_EQ(large[4], "layer4.1.conv2.weight");
  EXPECT_NE(std::ranges::find(large, "layer2.0.downsample.1.weight"), large.end());
}

TEST(Model, UpdatesStatisticsByLearningAndUsesThemInEvaluation) {
  const auto model = make_model("resnet20", image_shape(3, 16), 1);
  // 19 norms of 16, 32 and 64 channels, a mean and a variance each.
  ASSERT_EQ(model->statistics().size(), 2U * (7 * 16 + 6 * 32 + 6 * 64));
  const Batch batch = random_batch(image_shape(3, 16), 4);
  const auto before = copy_of(model->statistics());
  EXPECT_EQ(before[0], 0);
  EXPECT_EQ(before[16], 1);
  const double evaluated_before = model->evaluate(batch).loss;
  for (int i = 0; i < 50; ++i) model->learn(batch, {}, 1, {});
  EXPECT_NE(before, copy_of(model->statistics()));
  // After so many equal batches the running statistics are the batch's own, but for the variance's
  // n / (n - 1), which is at most 1.02 here.
  const double learnt = model->learn(batch, {}, 1, {}).loss;
  EXPECT_NEAR(model->evaluate(batch).loss, learnt, 0.02 * learnt);
  EXPECT_NE(model->evaluate(batch).loss, evaluated_before);
}

// Narrow layers reach other kernels of libtorch than wide ones, and one that oneDNN 2.6.3 has wrong
// on some machines (docs/onednn.md). Memory that is written past its end ends the process.
TEST(Model, LearnsAtEveryWidth) {
  set_operation_threads(1);
  const data::SampleShape shape = image_shape(3, 28);
  for (int width = 1; width <= 9; ++width) {
    for (const std::string& spec : {"resnet18(width=" + std::to_string(width) + ")",
                                    "cnn(channels=" + std::to_string(width) + ", hidden=8)"}) {
      const auto model = make_model(spec, shape, 1);
      for (const std::size_t samples : {2U, 16U}) {
        const Score score = model->learn(random_batch(shape, samples), kDraw, 1, {});
        EXPECT_TRUE(std::isfinite(score.loss)) << spec;
        EXPECT_TRUE(std::ranges::all_of(model->gradients(), [](float g) {
          return std::isfinite(g);
        })) << spec;
      }
    }
  }
}

TEST(Model, HasNoStatisticsWithoutBatchNorm) {
  EXPECT_TRUE(make_model("mlp", image_shape(1, 8), 1)->statistics().empty());
}

}  // namespace
}  // namespace gradwire::train
