// Quantiser: the stage of a codec that turns values into symbols. Stateless and thread-safe. It
// works on blocks and knows nothing of payloads: packing and entropy coding of its symbol planes is
// ValueCoder's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "gradwire/codec/block_symbols.h"
#include "gradwire/codec/codec.h"
#include "gradwire/codec/guarantee.h"
#include "gradwire/codec/plane.h"
#include "gradwire/codec/scale_facts.h"
#include "gradwire/codec/spec.h"
#include "gradwire/kernel/block.h"
#include "gradwire/kernel/buckets.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {

// The values that one payload is made of: `count` of them, from `begin` on. `values` starts at a
// bucket's start, and `position` is the index of values[0] in the tensor's list of values.
struct Slice {
  std::span<const float> values;
  std::size_t begin = 0;
  std::size_t count = 0;
  std::size_t position = 0;
};

class Quantiser {
 public:
  virtual ~Quantiser() = default;

  virtual std::string spec() const = 0;
  virtual Guarantee guarantee(std::size_t elements) const = 0;
  virtual std::span<const Plane> planes() const = 0;

  // Elements that share a scale; 1 where there are no buckets.
  virtual std::size_t bucket_elements() const { return 1; }

  // How many scales go with `count` values of which the first is element `phase` of its bucket.
  virtual std::size_t scale_count(std::size_t /*phase*/, std::size_t /*count*/) const { return 0; }

  // Looks at all values of the tensor, where the quantiser needs that.
  virtual void measure(std::span<const float> /*values*/, Scale::Facts& /*facts*/) const {}
  virtual bool needs_all_values() const { return false; }

  // Encodes the slice's values from `offset` on, `count` of them, into the planes of `out`, and
  // writes those of the slice's scales that this block is the first to need. Returns false if a NaN
  // or an infinity was met.
  struct EncodeBlock {
    const Slice& slice;
    std::size_t offset;  // in the slice
    std::size_t count;
    const Scale::Facts& facts;
    std::span<float> scales;  // of the slice
    RandomStream random;      // element 0 is the block's first
    kernel::Ahead ahead;

    std::span<const float> values() const {
      return slice.values.subspan(slice.begin + offset, count);
    }
  };
  virtual bool encode(const EncodeBlock& block, BlockSymbols& out) const = 0;

  // target = value, or target += weight * value, for one block of a slice.
  struct DecodeBlock {
    std::size_t first;              // of the block, counted from the start of the first bucket
    std::span<const float> scales;  // of the slice
    std::span<float> target;
    kernel::Ahead ahead;
  };
  virtual void decode(const BlockSymbols& in, const DecodeBlock& block) const = 0;
  virtual void decode_add(const BlockSymbols& in, float weight, const DecodeBlock& block) const = 0;
};

using QuantiserPtr = std::unique_ptr<const Quantiser>;

// The buckets of a block, by their numbers in the slice's values.
struct BlockBuckets {
  std::size_t slice_first = 0;  // the first of the slice
  std::size_t own = 0;          // the first of the block
  std::size_t new_from = 0;     // the first whose scales this block is the first to need
  std::size_t to = 0;           // behind the last
};
BlockBuckets block_buckets(const Quantiser::EncodeBlock& block, std::size_t bucket_elements);

// p of the norm linf.
inline constexpr unsigned kLargest = 0;

// Quantisers with one scale a bucket.
class BucketQuantiser : public Quantiser {
 public:
  std::size_t bucket_elements() const final { return bucket_elements_; }
  std::size_t scale_count(std::size_t phase, std::size_t count) const final;

 protected:
  BucketQuantiser(std::size_t bucket_elements, kernel::Norm norm)
      : bucket_elements_(bucket_elements), norm_(norm) {}
  // The l_p norm, p >= 1, or kLargest.
  BucketQuantiser(std::size_t bucket_elements, unsigned p)
      : bucket_elements_(bucket_elements),
        norm_(p == 2 ? kernel::Norm::l2 : kernel::Norm::linf),
        p_(p) {}

  struct Measured {
    kernel::Buckets buckets;
    bool finite = true;
  };
  // Computes the scales that are new with this block.
  Measured measure_block(const EncodeBlock& block) const;

  kernel::Buckets buckets(const DecodeBlock& block) const;

  // Of l_p norms only.
  unsigned p() const { return p_; }
  std::string norm_text() const;
  // The norm is at most elements^(1/r - 1/2) times the l2 norm, r = min{p, 2}: elements^(1/r).
  double root_of(double elements) const;

 private:
  void measure(std::span<const float> values, std::span<float> scales) const;

  std::size_t bucket_elements_;
  kernel::Norm norm_;
  unsigned p_ = kLargest;
};

// The l_p norm of values, rounded to float, at least their largest magnitude and at most the
// largest float; NaN if one is not finite. By products, sums and Newton's root, in one order: the
// same bits on every machine.
float lp_norm(std::span<const float> values, unsigned p);

// The norm=... argument: linf, or l1, l2, ... Returns p, or kLargest.
unsigned read_norm(StageReader& stage);

}  // namespace gradwire
