// Rule: the equations of a method that sends one vector per step through one codec. A rule computes
// the values to send, the memories and the output, for one piece at a time. docs/equations.md has
// the equations as a table. ExchangeMethod does everything else.
//
// Functions with a piece run on the communicator's threads, between submit() and finish(): for
// several pieces at once, as WorkerPort and OwnerPort say. Functions named on_... run on the
// caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/method_exchange.h"
#include "gradwire/method/memory.h"
#include "gradwire/method/method.h"
#include "gradwire/method/repeatable_method.h"

namespace gradwire {

// The codecs of uplink and downlink. A null downlink is the same as the uplink.
struct Codecs {
  std::shared_ptr<const Codec> up = {};
  std::shared_ptr<const Codec> down = {};
  std::vector<std::shared_ptr<const Codec>> each =
      {};  // instead: one for each tensor, for uplink and downlink
};

// The data that a rule works on.
struct RuleWorkspace {
  std::vector<MethodTensor> tensors;
  Codecs codecs;               // in use; if `up` is set, `down` is set
  bool has_downlink = false;   // the downlink rounds, so owners need a memory
  std::size_t workers = 1;     // ranks with gradients
  bool only_averages = false;  // this rank only averages
  bool is_large = false;       // results do not stay in the caches
  MethodOptions options;
  std::vector<TensorPiece> owned;

  StepContext context;                      // of the step
  std::vector<std::span<float>> gradients;  // that were submitted

  // A rule's constructor adds its memories. These return the index of the new memory.
  std::size_t add_memory(std::string name, Sharing sharing, MemoryUnit unit = MemoryUnit::gradient);
  std::size_t add_owner_memory(std::string name);
  std::vector<Memory> memories;
};

class Rule {
 public:
  explicit Rule(RuleWorkspace& workspace) : workspace_(workspace) {}
  virtual ~Rule() = default;

  // --- One piece; `piece.tensor` counts over all tensors. See WorkerPort and OwnerPort ---

  virtual bool keeps_values() const { return false; }
  virtual bool takes_pieces_in_order() const { return false; }
  virtual float mean_scale(std::size_t /*tensor*/) const { return 1; }
  virtual void prepare(const TensorPiece&, std::span<const float> /*gradient*/,
                       std::span<float> /*values*/) {}
  virtual void remember(const TensorPiece&, const SentPiece&, std::span<float> /*values*/) {}
  virtual void commit(const TensorPiece&, std::span<const float> /*mean*/,
                      std::span<float> /*result*/) {}
  virtual void prepare_down(const TensorPiece&, std::span<const float> /*mean*/,
                            std::span<float> /*wanted*/) {}
  virtual void commit_down(const TensorPiece&, std::span<const float> /*mean*/,
                           std::span<const float> /*sent*/) {}

  // With MethodOptions::grace, owners work while this rank is at another step: prepare_down() and
  // commit_down() may not look at the context. This is called on the same thread when a step of
  // this rank sends the tensors from `first` to before `last`. A mean may then be prepared and not
  // committed: what changes the memory of the downlink waits for settle_down().
  virtual void begin_down(std::size_t /*first*/, std::size_t /*last*/) {}
  virtual void settle_down(std::size_t /*first*/, std::size_t /*last*/) {}

  // --- Steps ---

  // The codecs of this step.
  virtual Codecs on_begin() { return workspace_.codecs; }
  // Called when all gradients were submitted and no exchange was started, for methods that need the
  // whole gradient. Returns true if this rank's last message should be used again.
  virtual bool on_whole_gradient() { return false; }
  // The same for a step without a gradient: see Method::wants_gradient().
  virtual bool on_spared_gradient() { return on_whole_gradient(); }
  // The tensors from `first` to before `last` have been exchanged.
  virtual void on_settled(std::size_t /*first*/, std::size_t /*last*/, bool /*poisoned*/) {}

  // The memories are those of another group of ranks, and the ranks have changed.
  virtual void on_regrouped(const Regrouping&) {}
  // Why the memories do not survive the loss of a rank; empty if they do.
  virtual std::string why_not_regrouped() const { return ""; }

  // --- State beside the memories ---

  virtual void on_save(MethodState&) const {}
  virtual void on_load(const MethodState&) {}
  virtual void on_rescale(float /*factor*/) {}
  virtual std::size_t extra_bytes() const { return 0; }

 protected:
  RuleWorkspace& workspace() { return workspace_; }
  const RuleWorkspace& workspace() const { return workspace_; }
  const StepContext& context() const { return workspace_.context; }
  std::span<float> memory(std::size_t index, const TensorPiece& piece) {
    return workspace_.memories[index].at(piece);
  }

  // For rules with shifts, whose mean all ranks hold: this rank's shift becomes that mean.
  void restart_shift(std::size_t shift, std::size_t mean);
  static constexpr const char* kLosesMeanShift =
      "owners hold the mean of the shifts, and a lost owner takes its part along: use an exact "
      "downlink, or the topology gather";

 private:
  RuleWorkspace& workspace_;
};

}  // namespace gradwire
