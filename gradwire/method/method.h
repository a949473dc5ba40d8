// Method: one worker's half of a way to average gradients, with its memory. Every worker begins a
// step, submits its gradients tensor by tensor as they become ready, and finishes; the gradients
// have then been replaced by what is to be applied, bit-identical on all ranks.
//
// A method is made once for a list of tensors, on all ranks alike. Exchanges start as soon as the
// tensors that travel together have been submitted, and run on the communicator's progress thread.
// Memory is keyed by the tensors' names. For one thread at a time; the communicator must outlive
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/collective/grace.h"
#include "gradwire/core/telemetry.h"
#include "gradwire/method/note.h"
#include "gradwire/method/state.h"

namespace gradwire {

struct MethodTensor {
  std::string name;
  std::vector<std::size_t> shape;  // of one dimension, or a matrix: the first one times the rest

  std::size_t elements() const;
};

// What a method does with gradients, so that a trainer can refuse what does not fit.
struct MethodTraits {
  enum class Output {
    gradient,  // the optimiser scales it and adds momentum
    update,    // to be subtracted from the parameters as it is
    model,     // the parameters themselves: see Method::input
  };

  // When a step sends what steps of the method send for the rest of a run.
  enum class Settles {
    at_once,
    with_first_note,  // MethodReport::note
    by_training,      // it depends on the gradients that it has learned from
  };

  bool needs_whole_gradient = false;  // nothing travels before the last tensor was submitted
  bool owns_momentum = false;         // an optimiser with momentum would count it twice
  bool owns_moments = false;          // it is Adam: MethodOptions::moments has its settings
  bool needs_parameters = false;      // StepContext::parameters
  bool needs_old_gradient = false;    // StepContext::gradient_at
  bool has_memory = false;            // a step depends on those before it
  bool reuses_uploads = false;        // a worker may let its last upload be used again
  Settles settles = Settles::at_once;
  Output output = Output::gradient;

  // Where the output is the model: workers take steps of their own between exchanges.
  std::uint64_t after = 0;  // steps at the start that average gradients as other methods do
  std::uint64_t every = 1;  // steps between two exchanges of a tensor
  double gain = 1;          // how far the model moves in the long run, over what workers move by

  // After so many steps all tensors have been exchanged equally often.
  bool is_round_end(std::uint64_t steps) const {
    return steps <= after || (steps - after) % every == 0;
  }
};

// The gradient of the step's own batch at other parameters: the same samples, augmentation and
// dropout, and no statistics updated. Calls `take` once for every tensor.
using TakeGradient = std::function<void(std::size_t tensor, std::span<const float> gradient)>;
using GradientAt = std::function<void(std::span<const std::span<const float>> parameters,
                                      const TakeGradient& take)>;

struct StepContext {
  std::uint64_t step = 0;  // from 0 on; random numbers depend on it
  double learning_rate = 1;

  // One rate for each tensor, where rates differ; empty: learning_rate holds for all tensors. The
  // rates must stay until finish() returns.
  std::span<const double> learning_rates = {};

  double rate_of(std::size_t tensor) const {
    return learning_rates.empty() ? learning_rate : learning_rates[tensor];
  }

  // Times this worker's gradient, such as its share of the samples times the number of workers. The
  // weights of all workers average to 1.
  float weight = 1;

  // False where none was computed, as wants_gradient() allows. submit() gets zeros then.
  bool has_gradient = true;

  // One span for each tensor: the parameters that the gradients belong to. Only where the traits
  // ask for them. What they point to must stay until finish() returns.
  std::span<const std::span<const float>> parameters = {};
  GradientAt gradient_at = {};

  // |x^t - x^(t-1)|^2 of the model's last movement, where more was done to it than to subtract what
  // the method gave: a prox, a decay of weights. For methods that look at how the model moves.
  std::optional<double> moved_squared = {};

  // No step follows: methods that exchange every few steps do so now.
  bool is_last = false;
};

// What one step took.
struct MethodReport {
  std::size_t exchanges = 0;

  // Exchanges in which some rank met a NaN or an infinity: the same on all ranks. Their tensors
  // come out as NaN (without a memory, as what was decoded, NaN in places), and their memories are
  // as before the step.
  std::size_t poisoned = 0;

  // With MethodOptions::grace: the ranks whose messages some owner did not count in some exchange,
  // in rising order; the same on all ranks.
  std::vector<std::size_t> late = {};

  // 1, or 0 where this worker let its last one be used again, or had no gradient to send.
  std::size_t uploads = 0;
  std::size_t uploads_skipped = 0;  // 1 where it did
  Traffic traffic = {};
  Phases phases = {};

  // What the method has to say of the step, for logs, records and pages; null where that is
  // nothing.
  std::shared_ptr<const Note> note = {};

  // One more exchange, and what it took.
  void add(const ExchangeReport& exchange);
  // What another part of the same step took.
  void add(const MethodReport& part);
};

class Method {
 public:
  virtual ~Method() = default;

  // The canonical text: make_method(spec()) gives the same method again.
  virtual const std::string& spec() const = 0;
  virtual MethodTraits traits() const = 0;
  virtual Topology topology() const = 0;

  // What submit() takes in a step: a gradient, or the parameters that this worker's own optimiser
  // has reached in the step, with its own gradient. begin() comes before the optimiser's step, with
  // the parameters as they are then. finish() leaves the parameters to continue with.
  enum class Input { gradients, parameters };
  virtual Input input(std::uint64_t /*step*/) const { return Input::gradients; }

  // With MethodOptions::grace: whether the next step has a use for this rank's gradient. False
  // where its mean is here already, and where this rank has caught up after a late gradient, which
  // is sent now, from the method's memory. After that answer the next step can do without one: see
  // StepContext::has_gradient.
  virtual bool wants_gradient() { return true; }

  virtual void begin(const StepContext& context) = 0;
  // In the order of the tensors. The memory is the method's until finish() returns.
  virtual void submit(std::size_t tensor, std::span<float> gradient) = 0;
  // Waits. Throws PeerError.
  virtual MethodReport finish() = 0;

  MethodReport run(const StepContext& context, std::span<const std::span<float>> gradients) {
    begin(context);
    for (std::size_t i = 0; i < gradients.size(); ++i) submit(i, gradients[i]);
    return finish();
  }

  // Everything that the next step depends on, exact to the bit. This, load() and rescale() are for
  // the time between steps: in the middle of one they throw Error.
  virtual MethodState save() const = 0;
  // Refuses, with the list of what differs, a state of another method or of other tensors; and a
  // state of other ranks, which reshare() turns into one of these. Throws Error.
  virtual void load(const MethodState& state) = 0;

  // What this rank owns for all: the ranges that its owner's memories cover. Empty where there are
  // none.
  virtual std::vector<TensorPiece> owned() const = 0;

  // All gradients are this many times as large from now on, as when a loss scale changes.
  virtual void rescale(float factor) = 0;

  // Bytes of memory that it holds between steps, exchanges in flight not counted.
  virtual std::size_t memory_bytes() const = 0;

  // What this rank said of each tensor in the last step, in bytes without frames and parcels. Empty
  // where a method does not tell tensors apart, or has no message of its own.
  virtual std::vector<std::uint64_t> tensor_bytes() const { return {}; }

  // A tensor of the model that all ranks have in common, while their parameters differ. Empty where
  // the parameters are the same on all ranks.
  virtual std::span<const float> model(std::size_t /*tensor*/) const { return {}; }
};

// Adam's settings for one tensor, with the defaults of AdamW.
struct MomentSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0.01;  // of weights, beside the gradient

  bool operator==(const MomentSettings&) const = default;
};

inline constexpr std::size_t kGroupElementsMax = std::size_t{1} << 20;

struct MethodOptions {
  Topology topology = Topology::automatic;
  std::size_t server = 0;                // its rank, where the topology has a server
  bool server_contributes = true;        // false: it only averages, and gives no gradients
  std::uint64_t seed = 0;                // the same on all ranks
  std::size_t segment_elements_max = 0;  // see ExchangeOptions

  // Tensors travel together until they have this many elements: see group_elements_for().
  std::size_t group_elements = kGroupElementsMax;

  // Owners do not wait for late ranks: only methods with ParsedMethod::why_not_late empty, on
  // scatter and server. All steps follow one another. A state is loaded before the first step, and
  // all ranks wait for one another before and after they save theirs; rescale() throws Error.
  Grace grace = {};

  // With several ranks on a host: the least bytes of a rank's part of the host's message. Fewer
  // ranks send small messages, which would have more packets than content otherwise.
  std::size_t host_part_bytes_min = std::size_t{1} << 20;

  // For methods that own moments: one for each tensor, the same on all ranks, where a trainer has
  // settings of its own. Empty: those of the spec hold for all.
  std::vector<MomentSettings> moments = {};
};

// How many elements of a model should travel together, if it has that many: a few groups, so that
// the first leave while the gradients of others are computed, but none so small that its round trip
// and headers count.
std::size_t group_elements_for(std::size_t model_elements);

// The method that a spec such as "ef(topk(1%), down=natural)" names; a codec alone is
// direct(codec). Compares everything that must be the same with all peers. Throws SpecError for the
// spec, Error for a topology that the method does not run on, and StartError where ranks differ.
std::unique_ptr<Method> make_method(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    std::string_view spec, const MethodOptions& options);

// What listings say about a method.
struct MethodExample {
  std::string spec;
  double vectors = 0;        // floats of memory for each parameter, on every rank
  double owner_vectors = 0;  // and for each one that a rank owns, 1/N of all, where what goes down
                             // is rounded
  std::string more;          // memory beside that, in words; usually none
  std::string topologies;    // such as "scatter, server, gather"
  std::string what;          // in a line

  // "2 + 1/N"
  std::string memory() const;
};
// Of all methods, and of the presets behind them.
std::vector<MethodExample> example_methods();

}  // namespace gradwire
