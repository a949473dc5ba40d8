// RepeatableRound: local(...) for groups whose ranks come and go. A step of it is the end of a
// round: it takes how far this worker has moved since the last one, and gives what is to be
// subtracted from the common model. The steps of the workers' own, and the model, are the caller's.
// For one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/method/local/outer_step.h"
#include "gradwire/method/memory.h"
#include "gradwire/method/repeatable_method.h"

namespace gradwire {

class RepeatableRound final : public RepeatableMethod {
 public:
  // `exchange` averages what workers moved by.
  RepeatableRound(std::string spec, const MethodTraits& traits, const OuterStep& outer,
                  std::vector<MethodTensor> tensors, std::unique_ptr<RepeatableMethod> exchange);

  const std::string& spec() const override { return spec_; }
  MethodTraits traits() const override { return traits_; }
  Topology topology() const override { return exchange_->topology(); }

  // Rates do not matter: movements of all rounds count alike.
  void begin(const StepContext& context) override;
  void submit(std::size_t tensor, std::span<float> moved) override;
  MethodReport finish() override;
  MethodReport replay(const StepContext& context, std::span<const std::vector<std::byte>> results,
                      std::span<const std::span<float>> outputs) override;
  void take_over(const MethodState& before, const Regrouping& how) override;

  MethodState save() const override;
  void load(const MethodState& state) override;
  std::vector<TensorPiece> owned() const override { return exchange_->owned(); }
  void rescale(float factor) override;
  std::size_t memory_bytes() const override;
  std::vector<std::uint64_t> tensor_bytes() const override { return exchange_->tensor_bytes(); }

 private:
  void scale(const MethodReport& report);

  const std::string spec_;
  const MethodTraits traits_;
  const OuterStep outer_;
  const std::vector<MethodTensor> tensors_;
  std::unique_ptr<RepeatableMethod> exchange_;
  std::optional<Memory> momentum_;
  std::vector<std::span<float>> outputs_;  // of the step
};

}  // namespace gradwire
