// PowerSgdGroup: tensors of powersgd that travel together. The left factors and the tensors that
// are not compressed are averaged by one exchange, the right factors by another. For one thread at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"
#include "gradwire/method/powersgd/low_rank_tensor.h"

namespace gradwire {

class PowerSgdGroup {
 public:
  struct Setup {
    std::size_t first = 0;                  // the number of the first tensor among the method's
    std::span<const MethodTensor> tensors;  // used by the constructor only
    std::span<const std::size_t> ranks;     // of the factors, by tensor; used likewise
    bool only_averages = false;             // this rank gives no gradients
    ExchangeOptions exchange;
  };

  // Throws as make_exchange does.
  PowerSgdGroup(Communicator& communicator, const Setup& setup);

  // One step: the tensors in their order, of which the last starts the first exchange; then
  // start_right() and settle(). Both wait, and what they took is added to the report. Groups start
  // their exchanges in the same order on all ranks.
  void submit(std::span<float> gradient, const StepContext& context, MethodReport& report);
  void start_right(const StepContext& context, MethodReport& report);
  void settle(const StepContext& context, MethodReport& report);
  // After something was thrown: waits for what is under way, and forgets the step.
  void abandon();

  // What a rank says of each tensor in a step: of its factors, or of itself.
  const std::vector<std::uint64_t>& tensor_bytes() const { return tensor_bytes_; }

  std::span<LowRankTensor> matrices() { return matrices_; }
  std::span<const LowRankTensor> matrices() const { return matrices_; }

 private:
  struct Mean {
    std::vector<std::span<const float>> values;
    std::vector<std::span<float>> means;
    std::unique_ptr<Exchange> exchange;
    bool is_started = false;
  };

  static void start(Mean& mean, const StepContext& context);
  // Whether it was good.
  static bool finish(Mean& mean, MethodReport& report);
  void poison();
  // The step's gradients.
  void forget();

  std::vector<std::optional<std::size_t>> matrix_of_;  // by tensor
  std::vector<std::size_t> tensor_of_;                 // by matrix
  std::vector<std::uint64_t> tensor_bytes_;
  std::vector<LowRankTensor> matrices_;
  std::vector<std::span<float>> gradients_;
  std::size_t first_;
  std::size_t tensor_count_;
  Mean left_;   // one span for each tensor
  Mean right_;  // one for each matrix; no exchange without one
};

}  // namespace gradwire
