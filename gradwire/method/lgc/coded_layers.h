// CodedLayers: averages the layers that are sent by a learned code. A rank that is the step's
// leader chooses indices for all; there every rank sends its values, exactly or by the code, and
// what of them does not arrive stays in its memory of errors: mean v_i = what is applied + mean
// e_i, for v_i = g_i + e_i. For one thread at a time; the communicator must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/all_gather.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/method/lgc/options.h"
#include "gradwire/method/lgc/scheme.h"
#include "gradwire/method/lgc/shared_indices.h"
#include "gradwire/method/method.h"
#include "gradwire/method/rate_unit.h"

namespace gradwire {

class CodedLayers {
 public:
  // All ranks at once. Throws as AllGather and the schemes do.
  CodedLayers(Communicator& communicator, std::vector<MethodTensor> tensors,
              const LgcOptions& options, const MethodOptions& method);

  Topology topology() const { return scheme_->topology(); }

  struct Outcome {
    MethodReport report;
    std::uint64_t index_bytes = 0;  // that were sent, frames included
    std::uint64_t value_bytes = 0;
    std::uint64_t code_bytes = 0;
    std::optional<double> error = {};  // see CodeNote
    bool is_estimate = false;
    double learn_seconds = 0;
  };
  // Gradients of all its tensors become means. With exact values the code learns from them. After
  // poison the gradients are NaN, and the memory is as before.
  Outcome run(const StepContext& context, std::span<const std::span<float>> gradients,
              bool is_exact);

  // Adds the memory to a state, and takes it back. Throws Error where something is missing. Returns
  // false where the code had to begin anew, as it must for another number of ranks.
  void save(MethodState& state) const;
  void check(const MethodState& state) const;
  bool load(const MethodState& state);

  void rescale(float factor);
  std::size_t memory_bytes() const;

 private:
  // What the leader writes, and what all read.
  std::vector<std::byte> write_lead(const LgcStep& turn, bool is_exact, bool& is_poison);
  struct Lead {
    SharedIndices indices;
    std::span<const std::byte> code;
    float error = 0;
  };
  Lead read_lead(const LgcStep& turn, bool is_exact);

  void add_errors(const StepContext& context, std::span<const std::span<float>> gradients);
  void count_lead(const LgcStep& turn, const ExchangeReport& report, std::size_t code_bytes,
                  Outcome& outcome) const;
  bool run_exact(const LgcStep& turn, const SharedIndices& indices, bool is_poison,
                 Outcome& outcome);
  bool run_coded(const LgcStep& turn, const Lead& lead, bool is_poison, Outcome& outcome);
  void learn(const LgcStep& turn, const SharedIndices& indices,
             std::span<const std::vector<float>> vectors, Outcome& outcome);
  void note_learned();
  void note_own_error(const SharedIndices& indices);
  void commit(const StepContext& context, const SharedIndices& indices,
              std::span<const std::span<float>> gradients);

  const std::size_t rank_;
  const std::size_t ranks_;
  const std::uint64_t seed_;
  const std::vector<MethodTensor> tensors_;
  IndexMessage message_;
  std::unique_ptr<CodeScheme> scheme_;
  std::unique_ptr<AllGather> leads_;
  std::unique_ptr<AllGather> values_;

  // Of all tensors, one after the other.
  std::vector<float> wanted_;  // v
  std::vector<float> errors_;  // e
  RateUnit rates_;
  // At the indices of this step.
  std::vector<float> sent_;  // what all take this rank's values for
  std::vector<float> mean_;

  std::uint32_t learned_ = 0;  // stands for all that the code has learned

  // What the code lost of this rank's values when it was last used, as a part of the mean: what it
  // tells as a leader. From that, what was lost of the mean: times how much these two differed when
  // both were known.
  float own_error_ = 0;
  double error_factor_ = 1;
};

}  // namespace gradwire
