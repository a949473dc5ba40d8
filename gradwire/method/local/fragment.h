// Fragment: the tensors of local(...) that are exchanged together, from the time when their
// movement is handed over until the mean is taken. The exchange runs on the communicator's progress
// thread meanwhile. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/method/memory.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

class Fragment {
 public:
  // `which` of all tensors belong to it; `name` tells its numbers from those of others in a state.
  Fragment(std::string name, std::vector<std::size_t> which,
           const std::vector<MethodTensor>& tensors, Communicator& communicator,
           const ParsedMethod& inner, const MethodOptions& options);

  std::span<const std::size_t> tensors() const { return which_; }
  const Method& exchange() const { return *exchange_; }

  // A step of this worker's own, with this weight.
  void count_step(float weight);

  // The values of tensors()[i], to be filled with how far they moved before begin(); after arrive()
  // they are the mean over all workers, NaN where the exchange was poisoned.
  std::span<float> values(std::size_t i) { return values_[i]; }

  // The exchange begins, in this step of the schedule. Workers are weighted by their steps since
  // the last one.
  void begin(std::uint64_t step);
  // The step in which the exchange that is under way was begun.
  std::optional<std::uint64_t> begun() const { return begun_; }
  // Waits for the mean.
  MethodReport arrive();
  // |values|^2 of this worker when the last exchange began.
  double moved_squared() const { return moved_squared_; }

  // Waits for an exchange that is under way, which stays so for arrive().
  void save(MethodState& state);
  // Throws Error for a state without this fragment.
  void load(const MethodState& state);

  std::size_t memory_bytes() const;

 private:
  void settle();
  MethodState own_part(const MethodState& state) const;

  const std::string name_;
  const std::vector<std::size_t> which_;
  const std::vector<MethodTensor> tensors_;
  std::unique_ptr<Method> exchange_;
  std::vector<std::vector<float>> values_;

  std::uint64_t rounds_ = 0;  // exchanges begun; random numbers depend on it
  double weights_ = 0;        // of the steps since the last one
  std::uint64_t steps_ = 0;
  std::optional<std::uint64_t> begun_;
  bool is_settled_ = false;  // the mean is in the values
  MethodReport report_;      // of what is settled
  double moved_squared_ = 0;
};

}  // namespace gradwire
