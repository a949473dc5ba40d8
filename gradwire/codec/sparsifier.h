// Sparsifiers: which elements of a tensor a sparse codec keeps. Stateless and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/guarantee.h"

namespace gradwire {

class Sparsifier {
 public:
  virtual ~Sparsifier() = default;

  virtual std::string spec() const = 0;

  // The most elements that are kept of a tensor.
  virtual std::size_t kept_max(std::size_t tensor_elements) const = 0;

  // Of this stage followed by a stage with the other guarantee. That one is for kept_max(elements).
  virtual Guarantee guarantee(std::size_t elements, const Guarantee& values) const = 0;

  // Fills the scale: what is kept, and whether the tensor is poisoned or not finite.
  virtual void select(std::span<const float> tensor, const Rng& rng, Scale& scale) const = 0;

  // True if zeros are kept last, if at all. Then what is kept can be selected from a list of all
  // that is not zero, which is in the scale already.
  virtual bool goes_by_magnitude() const { return false; }
  virtual void select_collected(Scale& /*scale*/) const {}

  // True if receivers can find the places by themselves, from scale.places and places_last.
  virtual bool places_are_random() const { return false; }

  // True if all ranks keep the same places.
  virtual bool places_are_shared() const { return false; }

  // See Codec::bounds_unsent.
  virtual bool bounds_unsent() const { return false; }
};

using SparsifierPtr = std::unique_ptr<const Sparsifier>;

}  // namespace gradwire
