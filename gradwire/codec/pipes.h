// The two shapes a codec can have. Dense: every value goes through the quantiser. Sparse: a
// sparsifier first, and the quantiser for what it keeps. Either may end in the entropy stage.
#pragma once

#include "gradwire/codec/chunk_indices.h"
#include "gradwire/codec/codec.h"
#include "gradwire/codec/sparsifier.h"
#include "gradwire/codec/value_coder.h"

namespace gradwire {

class DenseCodec final : public Codec {
 public:
  DenseCodec(std::string spec, ValueCoder coder);

  Guarantee guarantee(std::size_t elements) const override;
  bool is_plain() const override { return coder_.is_plain(); }
  std::size_t bucket_elements() const override;
  using Codec::payload_bytes_max;
  std::size_t payload_bytes_max(std::size_t range_elements,
                                std::size_t tensor_elements) const override;
  using Codec::measure;
  void measure(std::span<const float> tensor, const Rng& rng, Scale& scale,
               ThreadPool& pool) const override;
  bool needs_whole_tensor() const override { return coder_.quantiser().needs_all_values(); }
  std::optional<std::size_t> summable_from() const override;
  Encoded encode(const Scale& scale, TensorRange range, const Rng& rng,
                 std::span<std::byte> payload, Workspace& workspace) const override;
  Encoded encode_rounded(const Scale& scale, TensorRange range, const Rng& rng,
                         std::span<std::byte> payload, std::span<float> rounded,
                         Workspace& workspace) const override;
  Decoded<void> decode(std::span<const std::byte> payload, std::span<float> target,
                       Workspace& workspace) const override;
  Decoded<void> decode_add(std::span<const std::byte> payload, float weight,
                           std::span<float> target, Workspace& workspace) const override;

 private:
  ValueCoder coder_;
};

class SparseCodec final : public Codec {
 public:
  SparseCodec(std::string spec, SparsifierPtr sparsifier, ValueCoder coder);

  Guarantee guarantee(std::size_t elements) const override;
  bool is_sparse() const override { return true; }
  bool bounds_unsent() const override { return sparsifier_->bounds_unsent(); }
  bool shares_noise() const override { return sparsifier_->shares_indices(); }
  std::size_t bucket_elements() const override { return 1; }
  using Codec::payload_bytes_max;
  std::size_t payload_bytes_max(std::size_t range_elements,
                                std::size_t tensor_elements) const override;
  using Codec::measure;
  void measure(std::span<const float> tensor, const Rng& rng, Scale& scale,
               ThreadPool& pool) const override;
  bool collects() const override { return sparsifier_->goes_by_magnitude(); }
  void collect(TensorRange range, Scale& scale) const override;
  void collect(const Scale& collected, Scale& scale) const override;
  void finish_collecting(Scale& scale) const override;
  bool needs_whole_tensor() const override { return true; }
  std::optional<std::size_t> summable_from() const override;
  Encoded encode(const Scale& scale, TensorRange range, const Rng& rng,
                 std::span<std::byte> payload, Workspace& workspace) const override;
  Encoded encode_rounded(const Scale& scale, TensorRange range, const Rng& rng,
                         std::span<std::byte> payload, std::span<float> rounded,
                         Workspace& workspace) const override;
  Decoded<void> decode(std::span<const std::byte> payload, std::span<float> target,
                       Workspace& workspace) const override;
  Decoded<void> decode_to_zeros(std::span<const std::byte> payload, std::span<float> target,
                                Workspace& workspace) const override;
  Decoded<void> decode_add(std::span<const std::byte> payload, float weight,
                           std::span<float> target, Workspace& workspace) const override;

 private:
  void measure_kept(Scale::Facts& facts) const;

  struct Kept {
    std::span<const std::uint32_t> indices;
    std::span<const float> values;
    bool poisoned = false;
  };
  static void write(const Kept& kept, std::span<float> target);
  std::size_t encode_indices(std::span<const std::uint32_t> indices, const TensorRange& range,
                             const Scale::Facts& facts, std::span<std::byte> payload,
                             Workspace& workspace) const;
  ChunkCounts chunk_counts(std::size_t range_elements) const;
  Decoded<Kept> decode_kept(std::span<const std::byte> payload, std::size_t range_elements,
                            Workspace& workspace) const;
  Decoded<std::size_t> decode_indices(std::span<const std::byte> bytes, std::size_t range_elements,
                                      std::span<std::uint32_t> indices, Workspace& workspace) const;

  SparsifierPtr sparsifier_;
  ValueCoder coder_;
};

// The codec of the spec without its entropy stage: the same decoded values from longer payloads, in
// less time. Null if the spec has no entropy stage.
std::unique_ptr<const Codec> make_codec_without_entropy(std::string_view spec);

}  // namespace gradwire
