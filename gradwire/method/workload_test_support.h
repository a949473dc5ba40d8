// For tests of methods: workers that follow noisy gradients of quadratics with different optima, a
// step at a time, so that every method has something to do and nothing is symmetric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/collective/test_support.h"
#include "gradwire/method/method.h"

namespace gradwire {

inline std::vector<MethodTensor> test_tensors() {
  return {{"w1", {40, 30}}, {"b1", {40}}, {"none", {0}}, {"w2", {24, 40}}, {"b2", {7}}};
}

// One rank's model and method.
class TestWorker {
 public:
  TestWorker(Communicator& communicator, const std::string& spec, const MethodOptions& options,
             std::vector<MethodTensor> tensors = test_tensors())
      : rank_(communicator.rank()),
        tensors_(std::move(tensors)),
        method_(make_method(communicator, tensors_, spec, options)) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      x_.emplace_back(tensors_[i].elements());
      optimum_.push_back(rank_values(rank_, i, tensors_[i].elements()));
    }
  }

  Method& method() { return *method_; }
  const std::vector<std::vector<float>>& model() const { return x_; }
  const std::vector<std::vector<float>>& output() const { return output_; }
  void set_model(std::vector<std::vector<float>> model) { x_ = std::move(model); }

  // `poison` makes this rank's gradient of the first tensor NaN somewhere; the model then stays.
  MethodReport step(std::uint64_t step, bool poison = false) {
    output_ = gradient(x_, step);
    if (poison) output_[0][5] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::span<const float>> parameters(x_.begin(), x_.end());
    const std::vector<std::span<float>> spans(output_.begin(), output_.end());
    const auto gradient_at = [&](std::span<const std::span<const float>> model,
                                 const TakeGradient& take) {
      std::vector<std::vector<float>> old;
      for (const auto& tensor : model) old.emplace_back(tensor.begin(), tensor.end());
      const auto gradients = gradient(old, step);
      for (std::size_t i = 0; i < gradients.size(); ++i) take(i, gradients[i]);
    };
    constexpr float kRate = 0.1F;
    const MethodReport report = method_->run({.step = step,
                                              .learning_rate = kRate,
                                              .parameters = parameters,
                                              .gradient_at = gradient_at},
                                             spans);
    if (report.poisoned > 0) return report;
    const bool is_update = method_->traits().output == MethodTraits::Output::update;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      for (std::size_t j = 0; j < x_[i].size(); ++j) {
        x_[i][j] -= (is_update ? 1.0F : kRate) * output_[i][j];
      }
    }
    return report;
  }

 private:
  std::vector<std::vector<float>> gradient(const std::vector<std::vector<float>>& x,
                                           std::uint64_t step) const {
    std::vector<std::vector<float>> gradients;
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::vector<float> noise = rank_values(100 * (step + 1) + rank_, i, x[i].size());
      for (std::size_t j = 0; j < noise.size(); ++j) {
        noise[j] = 0.1F * noise[j] + x[i][j] - optimum_[i][j];
      }
      gradients.push_back(std::move(noise));
    }
    return gradients;
  }

  const std::size_t rank_;
  const std::vector<MethodTensor> tensors_;
  std::vector<std::vector<float>> x_, optimum_, output_;
  std::unique_ptr<Method> method_;
};

// Every kind of method, with settings that reach all of its parts.
inline std::vector<std::string> test_specs() {
  return {"natural",
          "direct(topk(10%), down=none)",
          "signsgd",
          "ef(topk(10%))",
          "ef(qsgd(bits=4))",
          "ef(randk(10%, seed=shared))",
          "ef(topk(10%), down=natural)",
          "ef(topk(10%) | natural, down=topk(20%))",
          "ef21(topk(10%))",
          "ef21(topk(10%), down=natural)",
          "diana(natural)",
          "diana(qsgd(bits=2, norm=l2, bucket=64), momentum=0.5)",
          "diana(natural, down=natural)",
          "diana(natural, down=topk(30%))",
          "dgc(5%)",
          "dgc(5%, warmup=8, clip=2, values=natural)",
          "powersgd(rank=2)",
          "lasg(none)",
          "lasg(natural, window=2)",
          "sasg(topk(10%), window=3, delay=4)",
          "sasg(topk(10%), window=2, rule=server)",
          "adam(sign, warmup=2)",
          "adam(sign, warmup=9, dense=none, down=natural)",
          "adam(topk(10%) | natural, warmup=1, refresh=3, clip=0.5, send=gradient)",
          "adam(powersgd(rank=2), warmup=3, decay=0)"};
}

struct TestPlace {
  Topology topology = Topology::automatic;
  bool server_contributes = true;

  MethodOptions options() const {
    return {.topology = topology,
            .server = 1,
            .server_contributes = server_contributes,
            .seed = 3,
            .group_elements = 1000};
  }
  std::string name() const {
    return gradwire::name(topology) + std::string(server_contributes ? "" : ", dedicated");
  }
};

inline std::vector<TestPlace> test_places() {
  return {{Topology::automatic},     {Topology::scatter}, {Topology::server},
          {Topology::server, false}, {Topology::gather},  {Topology::ring}};
}

}  // namespace gradwire
