// ParsedMethod: the description of a method, read from its spec before there are ranks or tensors,
// and the function that makes the method. No other code takes the text of a spec apart. Value type;
// const use is safe from several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "gradwire/method/note.h"
#include "gradwire/method/safe_step.h"

namespace gradwire {

class CommitGate;        // collective/method_exchange.h
class RepeatableMethod;  // method/repeatable_method.h

// What the ranks of a host exchange with other hosts, where the communicator has several on a host.
enum class HostParts {
  rows,      // each rank some rows of every tensor
  tensors,   // each rank some of the tensors, for methods that look at whole ones
  one_rank,  // one rank everything, for methods that look at the whole gradient
  inside,    // the method around which this one stands takes care of it
};

struct ParsedMethod {
  std::string spec;  // the canonical text
  MethodTraits traits;

  // The codecs of uplink and downlink, after a warm-up. A method with a codec for each tensor has
  // its initial codec here. Null if gradients are not sent through a codec, as with low-rank
  // factors.
  std::shared_ptr<const Codec> up = {};
  std::shared_ptr<const Codec> down = {};

  // Matrices are sent as two factors of this rank, which are averaged one after the other.
  std::optional<std::size_t> factor_rank = {};

  // Where another method makes the exchanges, in rounds of several steps or after a warm-up: its
  // spec. Empty for all others.
  std::string exchanged_by = {};

  // The kind of its notes; null for most methods.
  const NoteKind* note = nullptr;

  // Not set: by the traits. parse_method() sets it.
  std::optional<HostParts> host_parts = {};

  // The largest step size of gradient descent with proven convergence.
  std::function<double(const StepFacts&)> safe_step = usual_step;

  // All ranks call it with the same arguments. Throws as make_method does.
  std::function<std::unique_ptr<Method>(Communicator&, std::vector<MethodTensor>,
                                        const MethodOptions&)>
      make = {};

  // The same for groups whose ranks come and go. Null if the method cannot repeat a step; then
  // `why_not_repeatable` is the reason. Throws Error for topologies other than scatter and gather,
  // and for memories that a lost owner would take along.
  std::function<std::unique_ptr<RepeatableMethod>(Communicator&, std::vector<MethodTensor>,
                                                  const MethodOptions&, CommitGate&)>
      make_repeatable = {};
  std::string why_not_repeatable = "its steps are more than one exchange";

  // Why owners cannot leave out late ranks (MethodOptions::grace); empty if they can.
  std::string why_not_late =
      "it has no error memory in which a late gradient could wait; use ef(...)";

  // True for the exact mean of floats, without a memory: the baseline of all comparisons.
  bool is_exact_mean() const {
    return up && up->is_plain() && down->is_plain() && !traits.has_memory;
  }
};

// Reads a spec. make_method(spec) is parse_method(spec).make. Throws SpecError.
ParsedMethod parse_method(std::string_view spec);

// Why MethodOptions::grace does not go with a method and a topology; empty if it does.
// make_method() throws Error with the reason.
std::string why_not_late(const ParsedMethod& method, Topology topology);

}  // namespace gradwire
