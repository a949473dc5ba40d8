// Codec: encodes a tensor of floats as payload bytes, and decodes them. Stateless and thread-safe:
// scratch memory is in a Workspace that the caller owns, one for each thread.
//
// measure() reads the whole tensor once. Then ranges of it, cut at multiples of bucket_elements(),
// can be encoded one by one, and the decoded values do not depend on the cuts. A payload contains
// everything that decoding needs, except its length in bytes and in elements: the frame has those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradwire/codec/guarantee.h"
#include "gradwire/codec/workspace.h"
#include "gradwire/core/expected.h"
#include "gradwire/core/random.h"

namespace gradwire {

class ThreadPool;

// Scale: the facts about a whole tensor that a codec needs before it can encode a range of it:
// norms, thresholds, the kept elements. Filled by Codec::measure(). It keeps its memory from one
// tensor to the next, so that steady work does not allocate. One tensor at a time; ranges of that
// tensor may be encoded on several threads.
class Scale {
 public:
  Scale();
  ~Scale();
  Scale(Scale&&) noexcept;
  Scale& operator=(Scale&&) noexcept;

  // Before Codec::collect(): a tensor of that many elements, of which nothing is known yet.
  void reset(std::size_t elements);

  // No NaN or infinity was met while measuring.
  bool is_finite() const;

  struct Facts;  // for codecs: scale_facts.h
  Facts& facts() { return *facts_; }
  const Facts& facts() const { return *facts_; }

 private:
  std::unique_ptr<Facts> facts_;
};

// The stages of a pipe use different random streams.
inline constexpr std::uint32_t kSparsifierStage = 0;
inline constexpr std::uint32_t kQuantiserStage = 1;

// Consecutive elements of a tensor, and where they start in it.
struct TensorRange {
  std::span<const float> values;
  std::size_t first = 0;
};

struct Encoded {
  std::size_t bytes = 0;
  bool finite = true;  // no NaN or infinity was met in the range
};

class Codec {
 public:
  explicit Codec(std::string spec) : spec_(std::move(spec)) {}
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  // The canonical spec: make_codec(spec()) gives the same codec.
  const std::string& spec() const { return spec_; }

  virtual Guarantee guarantee(std::size_t elements) const = 0;

  // True if payloads are the plain 32-bit floats: nothing is rounded, left out or packed.
  virtual bool is_plain() const { return false; }

  // True if payloads tell some elements only, and all others decode to zero.
  virtual bool is_sparse() const { return false; }

  // True if the unsent part of any element is below a bound that does not depend on the values. An
  // error memory then stays bounded even where there is no guarantee.
  virtual bool bounds_unsent() const { return false; }

  // True if the random errors of all ranks are the same, so that averaging does not reduce them.
  virtual bool shares_noise() const { return false; }

  // Ranges start at multiples of this, and end at one or at the tensor's end.
  virtual std::size_t bucket_elements() const = 0;

  // The most bytes that any range of `range_elements` in a tensor of `tensor_elements` may take.
  virtual std::size_t payload_bytes_max(std::size_t range_elements,
                                        std::size_t tensor_elements) const = 0;
  std::size_t payload_bytes_max(std::size_t elements) const {
    return payload_bytes_max(elements, elements);
  }

  // Fills the scale. With a pool, its threads share the work; the facts are the same.
  void measure(std::span<const float> tensor, const Rng& rng, Scale& scale) const;
  virtual void measure(std::span<const float> tensor, const Rng& rng, Scale& scale,
                       ThreadPool& pool) const = 0;

  // Another way to measure, if collects() is true, for tensors that are mostly zeros and are never
  // in memory as a whole: reset the scale, collect all ranges in the order of the elements, and
  // finish. The decoded values are the same.
  virtual bool collects() const { return false; }
  virtual void collect(TensorRange /*range*/, Scale& /*scale*/) const {}
  // The same for what was collected in another scale, which was reset to the same tensor. So
  // ranges can be collected on several threads.
  virtual void collect(const Scale& /*collected*/, Scale& /*scale*/) const {}
  virtual void finish_collecting(Scale& /*scale*/) const {}

  // False if measure() does not read the tensor: a range can then be encoded before the rest of the
  // values is known.
  virtual bool needs_whole_tensor() const = 0;

  // Set if payloads of one range can be added without decoding: from this byte on they are floats;
  // the bytes before it are the same on all ranks.
  virtual std::optional<std::size_t> summable_from() const = 0;

  // Writes the range to the front of `payload`, which must have payload_bytes_max() bytes. Throws
  // Error for a smaller one, and for a range that was not measured or is not cut at buckets.
  virtual Encoded encode(const Scale& scale, TensorRange range, const Rng& rng,
                         std::span<std::byte> payload, Workspace& workspace) const = 0;

  // The same, and writes C(x) to `rounded`, as decode() of the payload does, but without reading
  // the payload back. `rounded` may be the memory of the range's values.
  virtual Encoded encode_rounded(const Scale& scale, TensorRange range, const Rng& rng,
                                 std::span<std::byte> payload, std::span<float> rounded,
                                 Workspace& workspace) const = 0;

  // target = C(x), or target += weight * C(x). Returns an error, and leaves the target alone, if
  // the bytes are not a payload of target.size() elements.
  virtual Decoded<void> decode(std::span<const std::byte> payload, std::span<float> target,
                               Workspace& workspace) const = 0;
  // The same as decode() if the target is zero everywhere. A sparse codec then writes little.
  virtual Decoded<void> decode_to_zeros(std::span<const std::byte> payload, std::span<float> target,
                                        Workspace& workspace) const {
    return decode(payload, target, workspace);
  }
  virtual Decoded<void> decode_add(std::span<const std::byte> payload, float weight,
                                   std::span<float> target, Workspace& workspace) const = 0;

 private:
  std::string spec_;
};

// The codec of a spec such as "topk(1%) | natural | entropy". Throws SpecError.
std::unique_ptr<const Codec> make_codec(std::string_view spec);

// The codec whose payloads are plain floats. See Codec::is_plain.
std::unique_ptr<const Codec> make_plain_codec();

// The names of all stages, in the order of listings.
std::vector<std::string> codec_stage_names();

// Example specs of all codecs, for listings and tests.
std::vector<std::string> example_codec_specs();

}  // namespace gradwire
