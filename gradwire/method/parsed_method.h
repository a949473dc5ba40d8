// ParsedMethod: a method as its spec describes it, before there are ranks or tensors, and the
// function that makes it. Callers ask it; nobody takes the text of a spec apart. Value type.
// Several threads may use one at a time.
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

struct ParsedMethod {
  std::string spec;  // the canonical text
  MethodTraits traits;

  // The codecs of both ways once a warm-up is over. A method that gives each tensor a codec of its
  // own has here the one that it starts from. Null where gradients travel in another form.
  std::shared_ptr<const Codec> up = {};
  std::shared_ptr<const Codec> down = {};

  // Matrices travel as two factors of this rank, averaged one after the other.
  std::optional<std::size_t> factor_rank = {};

  // The kind of note that its reports have; null for most methods.
  const NoteKind* note = nullptr;

  // The longest step of gradient descent for which it is known to converge.
  std::function<double(const StepFacts&)> safe_step = usual_step;

  // All ranks call it alike. Throws as make_method does.
  std::function<std::unique_ptr<Method>(Communicator&, std::vector<MethodTensor>,
                                        const MethodOptions&)>
      make = {};

  // True for the exact mean of floats, without a memory: the baseline of all comparisons.
  bool is_exact_mean() const {
    return up && up->is_plain() && down->is_plain() && !traits.has_memory;
  }
};

// What make_method makes of the spec. Throws SpecError.
ParsedMethod parse_method(std::string_view spec);

}  // namespace gradwire
