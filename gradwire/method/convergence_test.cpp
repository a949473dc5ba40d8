// Where training with a method ends, and how fast, on problems whose optimum is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradwire/method/quadratic_test_support.h"
#include "gradwire/method/training_test_support.h"

namespace gradwire {
namespace {

// What float state can reach, as a part of f(x0) - f*.
constexpr double kFloor = 1e-10;

const Quadratics& problem() {
  static const Quadratics quadratics({});
  return quadratics;
}

Training on_quadratics(const std::string& spec, double rate, std::size_t steps) {
  return {.spec = spec,
          .ranks = problem().workers(),
          .steps = steps,
          .learning_rates = {rate},
          .start = Model(problem().elements(), 3.0F),
          .gradient = [](std::size_t rank, std::span<const float> x, std::uint64_t) {
            return problem().gradient(rank, x);
          }};
}

// f - f* after every step, as a part of what it was at the start.
std::vector<double> excess(const Training& training) {
  const TrainingResult result = train(training);
  std::vector<double> parts;
  for (const Model& x : result.iterates) {
    parts.push_back(problem().excess(x) / problem().excess(training.start));
  }
  return parts;
}

double mean_of_last_quarter(const std::vector<double>& parts) {
  const std::size_t count = parts.size() / 4;
  double sum = 0;
  for (std::size_t i = parts.size() - count; i < parts.size(); ++i) sum += parts[i];
  return sum / static_cast<double>(count);
}

double omega_of(const std::string& codec) {
  const Guarantee guarantee = make_codec(codec)->guarantee(problem().elements());
  EXPECT_EQ(guarantee.kind, Guarantee::Kind::unbiased);
  return guarantee.constant;
}

double diana_rate(const std::string& up) {
  const double omega = omega_of(up) / static_cast<double>(problem().workers());
  return 1 / (problem().smoothness() * (1 + 2 * omega));
}
double diana_rate(const std::string& up, const std::string& down) {
  const double omega = omega_of(up) / static_cast<double>(problem().workers());
  return 1 / (problem().smoothness() * (1 + 6 * omega_of(down)) * (1 + 6 * omega));
}

// Straight on a log scale: of the way down to the floor, every quarter of the steps has its part.
void expect_straight_to_floor(const std::vector<double>& parts) {
  const auto reached =
      std::find_if(parts.begin(), parts.end(), [](double p) { return p < kFloor; });
  ASSERT_NE(reached, parts.end()) << "stopped at " << parts.back();
  EXPECT_LT(mean_of_last_quarter(parts), kFloor);
  const auto steps = static_cast<std::size_t>(reached - parts.begin());
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const double from = parts[quarter * steps / 4];
    const double to = parts[(quarter + 1) * steps / 4];
    const double share = std::log(from / to) / std::log(1 / *reached);
    EXPECT_GT(share, 0.15) << "quarter " << quarter;
    EXPECT_LT(share, 0.35) << "quarter " << quarter;
  }
}

constexpr const char* kDianaCodecs[] = {"natural", "qsgd(bits=2, norm=l2, bucket=16)",
                                        "qsgd(bits=2, norm=linf, bucket=16)"};

TEST(ConvergenceThreads, DianaGoesStraightToTheOptimum) {
  for (const std::string codec : kDianaCodecs) {
    for (const Topology topology : {Topology::scatter, Topology::server, Topology::gather}) {
      SCOPED_TRACE(codec + ", " + name(topology));
      Training training = on_quadratics("diana(" + codec + ")", diana_rate(codec), 400);
      training.options.topology = topology;
      expect_straight_to_floor(excess(training));
    }
  }
}

TEST(ConvergenceThreads, DianaDoesSoWithARoundedDownlink) {
  for (const std::string codec : kDianaCodecs) {
    for (const Topology topology : {Topology::scatter, Topology::server}) {
      SCOPED_TRACE(codec + ", " + name(topology));
      Training training =
          on_quadratics("diana(" + codec + ", down=natural)", diana_rate(codec, "natural"), 1000);
      training.options.topology = topology;
      expect_straight_to_floor(excess(training));
    }
  }
}

TEST(ConvergenceThreads, WithoutShiftsTheSameStepStallsFarAbove) {
  const std::string codec = "qsgd(bits=2, norm=l2, bucket=16)";
  const double rate = diana_rate(codec);
  const double with_shifts =
      mean_of_last_quarter(excess(on_quadratics("diana(" + codec + ")", rate, 600)));
  for (const std::string direct : {codec.c_str(), "terngrad", "sign"}) {
    const double stalled =
        mean_of_last_quarter(excess(on_quadratics("direct(" + direct + ", down=none)", rate, 600)));
    EXPECT_GT(stalled, 1e4 * with_shifts) << direct;
  }
}

// The step of the theorem for codecs that contract by delta.
double ef21_rate(double delta) {
  const double theta = 1 - std::sqrt(1 - delta);
  const double beta = (1 - delta) / theta;
  return std::min(1 / (problem().smoothness() * (1 + std::sqrt(2 * beta / theta))),
                  theta / (2 * problem().convexity()));
}

TEST(ConvergenceThreads, Ef21GoesStraightToTheOptimum) {
  const double delta = make_codec("topk(10%)")->guarantee(problem().elements()).constant;
  expect_straight_to_floor(excess(on_quadratics("ef21(topk(10%))", ef21_rate(delta), 2500)));
}

TEST(ConvergenceThreads, EfStopsAtAFloorOfTheStepSquared) {
  const double rate = 0.5 / problem().smoothness();
  double floor = 0;
  for (const int halvings : {0, 1, 2}) {
    const double before = floor;
    floor = mean_of_last_quarter(
        excess(on_quadratics("ef(topk(10%), down=none)", rate / (1 << halvings), 2000)));
    if (halvings == 0) continue;
    EXPECT_GT(before / floor, 2.5);
    EXPECT_LT(before / floor, 6);
  }
}

// Three workers with f_i(x) = <a_i, x>^2 + |x|^2 / 4 and the optimum 0, a counter-example of
// Beznosikov et al., "On biased compression for distributed learning".
Model counter_example_gradient(std::size_t rank, std::span<const float> x, std::uint64_t) {
  constexpr float kDirections[3][3] = {{-3, 2, 2}, {2, -3, 2}, {2, 2, -3}};
  const auto& a = kDirections[rank];
  const float along = a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
  Model gradient(3);
  for (std::size_t i = 0; i < 3; ++i) gradient[i] = 2 * along * a[i] + x[i] / 2;
  return gradient;
}

// One element of three.
Training on_counter_example(const std::string& spec) {
  return {.spec = spec,
          .ranks = 3,
          .steps = 400,
          .learning_rates = {0.02},
          .start = {1, 1, 1},
          .gradient = counter_example_gradient};
}

// At (t, t, t) worker 1 has t/2 (-11, 9, 9), and sends only the first element; the others likewise.
// The mean of what was sent is -11/6 (t, t, t): with a step of gamma, t grows by 1 + 11/6 gamma.
TEST(ConvergenceThreads, TopkAloneLeavesTheOptimumOfTheCounterExample) {
  const TrainingResult result = train(on_counter_example("direct(topk(33%), down=none)"));
  const double growth = 1 + 11.0 / 6 * 0.02;
  for (const std::size_t step : {1u, 10u, 100u, 400u}) {
    const double expected = std::pow(growth, static_cast<double>(step));
    for (const float x : result.iterates[step]) EXPECT_NEAR(x / expected, 1, 1e-4) << step;
  }
}

TEST(ConvergenceThreads, EfReachesTheOptimumOfTheCounterExample) {
  const TrainingResult result = train(on_counter_example("ef(topk(33%), down=none)"));
  for (const float x : result.iterates.back()) {
    EXPECT_NEAR(x, 0, 1e-3);
  }
}

// V = |x - x*|^2 + (c gamma^2 / n) sum |h_i - grad f_i(x*)|^2 of the theorem about DIANA; each rank
// adds its part.
struct Lyapunov {
  double gamma = 0;
  double c = 0;

  double part(const TrainingStep& at) const {
    const auto n = static_cast<double>(problem().workers());
    const Eigen::VectorXd& optimum = problem().optimum();
    const Eigen::VectorXd shift = Quadratics::to_vector(memory_of(at.method.save(), "shift"));
    const double away = (Quadratics::to_vector(at.x) - optimum).squaredNorm();
    const double wrong = (shift - problem().gradient(at.rank, optimum)).squaredNorm();
    return away / n + c * gamma * gamma / n * wrong;
  }
};

// V after each step, of one run.
std::vector<double> lyapunov_values(const std::string& codec, const Lyapunov& lyapunov,
                                    std::uint64_t seed, std::size_t steps) {
  std::vector<std::vector<double>> parts(problem().workers());
  Training training = on_quadratics("diana(" + codec + ")", lyapunov.gamma, steps);
  training.options.seed = seed;
  training.on_step = [&](const TrainingStep& at) { parts[at.rank].push_back(lyapunov.part(at)); };
  train(training);
  std::vector<double> values(steps);
  for (const auto& of_rank : parts) {
    for (std::size_t step = 0; step < steps; ++step) values[step] += of_rank[step];
  }
  return values;
}

// One-sided, over 200 seeds: the mean of V' - rho V must lie below 0 by more than 3.1 standard
// errors, so that a method whose V falls more slowly passes with a probability below 0.001.
TEST(ConvergenceThreads, DianasLyapunovFunctionFallsAsTheTheoremSays) {
  constexpr std::size_t kSeeds = 200;
  const std::string codec = "qsgd(bits=2, norm=l2, bucket=16)";
  const double omega = omega_of(codec);
  const auto n = static_cast<double>(problem().workers());
  const Lyapunov lyapunov{.gamma = diana_rate(codec), .c = 4 * omega * (1 + omega) / n};
  const double alpha = 1 / (2 * (1 + omega));
  const double rho = std::max(1 - lyapunov.gamma * problem().convexity(), 1 - alpha);
  std::vector<std::vector<double>> runs;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    runs.push_back(lyapunov_values(codec, lyapunov, seed, 42));
  }
  for (const std::size_t step : {0u, 1u, 5u, 20u, 40u}) {
    Eigen::ArrayXd changes(kSeeds);
    for (std::size_t i = 0; i < kSeeds; ++i) {
      changes[static_cast<Eigen::Index>(i)] = runs[i][step + 1] - rho * runs[i][step];
    }
    const double variance = (changes - changes.mean()).square().sum() / (kSeeds - 1);
    EXPECT_LT(changes.mean() + 3.1 * std::sqrt(variance / kSeeds), 0) << "step " << step;
  }
}

void soft_threshold(Eigen::VectorXd& x, double by) {
  x = x.array().sign() * (x.array().abs() - by).max(0);
}

// The minimiser of f + weight |x|_1, by exact proximal gradient steps.
Eigen::VectorXd sparse_optimum(double weight) {
  Eigen::VectorXd x = problem().optimum();
  const double rate = 1 / problem().smoothness();
  for (int step = 0; step < 5000; ++step) {
    x -= rate * problem().mean_gradient(x);
    soft_threshold(x, rate * weight);
  }
  return x;
}

// Momentum that sums gradients where it should average them would find the second one.
TEST(ConvergenceThreads, DianasMomentumAndAProxFindTheirOwnOptimum) {
  constexpr double kWeight = 2;
  const double rate = diana_rate("natural");
  Training training = on_quadratics("diana(natural, momentum=0.9)", rate, 1500);
  training.after_step = [&](Model& x) {
    Eigen::VectorXd moved = Quadratics::to_vector(x);
    soft_threshold(moved, rate * kWeight);
    x = Quadratics::to_floats(moved);
  };
  const Eigen::VectorXd right = sparse_optimum(kWeight);
  const Eigen::VectorXd wrong = sparse_optimum((1 - 0.9) * kWeight);
  const Eigen::VectorXd found = Quadratics::to_vector(train(training).iterates.back());
  EXPECT_LT((found - right).norm(), 1e-4 * (wrong - right).norm());
  EXPECT_GT((wrong - right).norm(), 0.1 * right.norm());
}

}  // namespace
}  // namespace gradwire
