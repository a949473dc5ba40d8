// Rule: the equations of a method that sends one vector a step through one codec. It says what is
// sent for a gradient, and what becomes of memories and means, for one piece at a time;
// docs/equations.md has them as a table. ExchangeMethod does everything else.
//
// Pieces are worked on by the progress thread, between submit() and finish(); what is called on_...
// runs on the caller's.
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

namespace gradwire {

// The codecs of both ways. A null downlink is as the uplink.
struct Codecs {
  std::shared_ptr<const Codec> up = {};
  std::shared_ptr<const Codec> down = {};
  std::vector<std::shared_ptr<const Codec>> each = {};  // instead: by tensor, for both ways
};

// What a rule works with.
struct RuleWorkspace {
  std::vector<MethodTensor> tensors;
  Codecs codecs;               // those in use; `down` is not null if `up` is not
  bool has_downlink = false;   // what goes down is rounded, so that owners need a memory
  std::size_t workers = 1;     // ranks that give gradients
  bool only_averages = false;  // this rank only averages
  bool is_large = false;       // results do not stay in the caches
  MethodOptions options;
  std::vector<TensorPiece> owned;

  StepContext context;                      // of the step
  std::vector<std::span<float>> gradients;  // that were submitted

  // Memories are made by the rule's constructor, and known by what these return.
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

  // --- Steps ---

  // What this step is sent by.
  virtual Codecs on_begin() { return workspace_.codecs; }
  // All gradients are there, and nothing was started: for methods that need them all. Returns
  // whether this rank's last message is to be used again.
  virtual bool on_whole_gradient() { return false; }
  // The tensors from `first` to before `last` have been exchanged.
  virtual void on_settled(std::size_t /*first*/, std::size_t /*last*/, bool /*poisoned*/) {}

  // --- What it knows beside its memories ---

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

 private:
  RuleWorkspace& workspace_;
};

}  // namespace gradwire
