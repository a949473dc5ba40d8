#include <cmath>

#include "gradwire/kernel/test_support.h"
#include "gradwire/method/lgc/code_network.h"
#include "gradwire/method/lgc/test_support.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::size_t kValues = 90;
constexpr std::size_t kChannels = 6;
constexpr std::size_t kRanks = 3;

struct Case {
  std::optional<std::size_t> leader;
  std::size_t decoders = 1;
};
const Case kCases[] = {{.leader = {}}, {.leader = 1, .decoders = kRanks + 1}};

std::unique_ptr<CodeNetwork> make_network(std::size_t decoders) {
  return make_deep_code({.kind = CodeKind::deep,
                         .channels = kChannels,
                         .decoders = decoders,
                         .learning_rate = 2e-3,
                         .seed = 3});
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
  }
  return sum;
}

std::vector<float> mean_of(const std::vector<std::vector<float>>& vectors) {
  std::vector<float> mean(vectors.front().size());
  for (const std::vector<float>& vector : vectors) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += vector[i] / static_cast<float>(vectors.size());
    }
  }
  return mean;
}

// What a network should make small, see TrainingBatch, by its definition and without noise. Of
// whole blocks: zeros behind the last value are to be decoded, too.
double loss(const CodeNetwork& network, const std::vector<std::vector<float>>& vectors,
            const Case& test) {
  const std::size_t length = blocks_of(kValues) * kCodeBlock;
  std::vector<std::vector<float>> rows = vectors;
  std::vector<std::vector<float>> codes;
  double unit = 0;
  for (std::vector<float>& row : rows) {
    row.resize(length);
    codes.push_back(network.encode(row));
    unit += squared_distance(row, std::vector<float>(length));
  }
  const auto lost = [&](const std::vector<float>& code, std::size_t decoder,
                        const std::vector<float>& wanted) {
    std::vector<float> made(length);
    network.decode(code, decoder, made);
    return squared_distance(made, wanted);
  };
  double sum = 0;
  const std::vector<float> mean_code = mean_of(codes);
  for (std::size_t i = 0; i < kRanks; ++i) {
    if (!test.leader) {
      sum += lost(codes[i], 0, rows[i]);
    } else {
      sum += lost(codes[*test.leader], i == *test.leader ? kRanks : i, rows[i]);
      sum += double{kAlikeWeight} * double{kRanks} * squared_distance(codes[i], mean_code);
    }
  }
  if (!test.leader) sum += lost(mean_code, 0, mean_of(rows));
  return sum / unit;
}

// After its first step Adam remembers a tenth of the gradient, behind the weights.
std::vector<float> first_gradient(const std::vector<std::vector<float>>& vectors,
                                  const Case& test) {
  const auto network = make_network(test.decoders);
  const std::vector<float> steps(kChannels);
  network->learn({.vectors = vectors, .leader = test.leader, .quantiser_steps = steps, .step = 0});
  const std::vector<float> saved = network->save();
  const std::size_t weights = (saved.size() - 1) / 3;
  std::vector<float> gradient(saved.begin() + static_cast<std::ptrdiff_t>(weights),
                              saved.begin() + static_cast<std::ptrdiff_t>(2 * weights));
  for (float& number : gradient) number /= 1 - 0.9F;
  return gradient;
}

TEST(DeepCode, LearnsAlongTheGradientOfItsLoss) {
  const auto vectors = smooth_vectors(kRanks, kValues, 0);
  for (const Case& test : kCases) {
    const std::vector<float> gradient = first_gradient(vectors, test);
    const auto network = make_network(test.decoders);
    const std::vector<float> start = network->save();
    // Along the gradient, and along a direction in which all weights move by as much.
    for (const bool is_along : {true, false}) {
      std::vector<float> direction = gradient;
      if (!is_along) fill_random(9, 0, "direction", direction);
      double length = 0;
      double wanted = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        length += double{direction[i]} * double{direction[i]};
        wanted += double{direction[i]} * double{gradient[i]};
      }
      length = std::sqrt(length);
      constexpr double kStep = 2e-3;
      const auto loss_at = [&](double step) {
        std::vector<float> moved = start;
        for (std::size_t i = 0; i < direction.size(); ++i) {
          moved[i] += static_cast<float>(step / length * double{direction[i]});
        }
        network->load(moved);
        return loss(*network, vectors, test);
      };
      const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(slope, wanted / length, 0.01 * std::abs(slope) + 1e-3) << is_along;
    }
  }
}

TEST(DeepCode, HasTheSameBitsOnEveryTarget) {
  for (const Case& test : kCases) {
    std::vector<float> first, first_code;
    kernel::for_each_target([&](const std::string& target) {
      const auto network = make_network(test.decoders);
      const std::vector<float> steps(kChannels, 0.3F);
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto vectors = smooth_vectors(kRanks, kValues, step);
        network->learn(
            {.vectors = vectors, .leader = test.leader, .quantiser_steps = steps, .step = step});
      }
      const std::vector<float> code = network->encode(smooth_vectors(1, kValues, 7).front());
      if (first.empty()) {
        first = network->save();
        first_code = code;
      }
      SCOPED_TRACE(target);
      kernel::expect_same(network->save(), first);
      kernel::expect_same(code, first_code);
    });
  }
}

// As 0.1 had them, on libtorch: its states can be loaded.
TEST(DeepCode, StatesHaveTheWeightsInTheOrderOfPyTorch) {
  const auto network = make_network(1);
  const std::vector<float> saved = network->save();
  std::vector<float> second(64 * 128 * 3);
  fill_random(3, 0, "layer of a code 2", second);
  const std::size_t first = 64 * 3 + 64;
  for (std::size_t i = 0; i < second.size(); ++i) {
    ASSERT_EQ(saved[first + i], second[i] * static_cast<float>(std::sqrt(6.0 / (64 * 3)))) << i;
  }
}

}  // namespace
}  // namespace gradwire
