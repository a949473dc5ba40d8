// LayerMethod: averages tensors of which each has a way of its own to be sent: those with codecs by
// one inner method, those of low rank by another. Made for one choice of ways; when the choice
// changes, another one is made, which goes on with the memories of the first. For one thread at a
// time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/lgreco/layer_candidates.h"
#include "gradwire/method/method.h"
#include "gradwire/method/tensor_rates.h"

namespace gradwire {

class LayerMethod {
 public:
  struct Setup {
    std::vector<const Candidate*> choices;  // of each tensor
    bool has_memory = false;                // some choice, now or later, keeps errors
    MethodOptions options;                  // with the topology of tensors that have codecs
    Topology low_rank_topology = Topology::automatic;
  };

  // All ranks at once. Throws as make_exchange does.
  LayerMethod(Communicator& communicator, const std::vector<MethodTensor>& tensors,
              const Setup& setup);

  // As those of Method.
  void begin(const StepContext& context);
  void submit(std::size_t tensor, std::span<float> gradient);
  MethodReport finish();
  void rescale(float factor);
  std::size_t memory_bytes() const;
  std::vector<std::uint64_t> tensor_bytes() const;
  std::vector<TensorPiece> owned() const;

  // Adds the memories to a state.
  void save(MethodState& state) const;
  // Takes them back, of the same choice. Throws Error where some are missing.
  void load(const MethodState& state);
  // Takes those of another choice, without loss: an error goes on as the error of its tensor,
  // whatever that is sent by now. What an owner did not send down goes into its own worker's error,
  // which is in the mean as one of `workers`.
  void take_over(const MethodState& state, std::size_t workers);

 private:
  // An inner method and its tensors.
  struct Part {
    std::vector<MethodTensor> tensors = {};
    std::vector<std::size_t> indices = {};  // of them, among all
    TensorRates rates = {};
    std::unique_ptr<Method> method = {};  // null without tensors
  };

  // What an inner method's state is made of: that of all, as far as it is about its tensors.
  MethodState state_for(const Part& part, const MethodState& state) const;

  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_;   // by tensor
  std::vector<std::size_t> place_of_;  // in its part
};

}  // namespace gradwire
