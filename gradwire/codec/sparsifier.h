// Sparsifier: the stage of a codec that chooses the elements to keep. Stateless and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/guarantee.h"
#include "gradwire/codec/scale_facts.h"

namespace gradwire {

class Sparsifier {
 public:
  virtual ~Sparsifier() = default;

  virtual std::string spec() const = 0;

  // The largest number of elements that are kept.
  virtual std::size_t kept_max(std::size_t tensor_elements) const = 0;

  // Above 0 if it keeps kept_max(n) elements of every n = chunk_elements(), counted from the
  // tensor's start, and of the rest.
  virtual std::size_t chunk_elements() const { return 0; }

  // The guarantee of this stage and the next one together. `values` is that of the next stage, for
  // kept_max(elements) elements.
  virtual Guarantee guarantee(std::size_t elements, const Guarantee& values) const = 0;

  // Finds the kept elements, and whether the tensor is poisoned or not finite, on all threads of
  // the pool.
  virtual void select(std::span<const float> tensor, const Rng& rng, Scale::Facts& facts,
                      ThreadPool& pool) const = 0;

  // True if zeros are kept last, if at all. Then the kept elements can be selected from a list of
  // all elements that are not zero, which is in the facts already.
  virtual bool goes_by_magnitude() const { return false; }
  virtual void select_collected(Scale::Facts& /*facts*/) const {}

  // True if random numbers decide which elements are kept, so that receivers find the indices from
  // Facts::draws and last_draw.
  virtual bool draws_indices() const { return false; }

  // True if all ranks keep the same elements.
  virtual bool shares_indices() const { return false; }

  // See Codec::bounds_unsent.
  virtual bool bounds_unsent() const { return false; }
};

using SparsifierPtr = std::unique_ptr<const Sparsifier>;

}  // namespace gradwire
