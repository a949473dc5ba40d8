#include "gradwire/codec/pipes.h"

#include <algorithm>
#include <limits>
#include <string>

#include "gradwire/codec/rice.h"
#include "gradwire/codec/scale_facts.h"
#include "gradwire/codec/selection.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/kernel/select.h"

namespace gradwire {
namespace {

void check_room(std::size_t room_bytes, std::size_t bytes_max) {
  if (room_bytes >= bytes_max) return;
  throw Error("a payload has room for " + std::to_string(room_bytes) + " bytes, but may need " +
              std::to_string(bytes_max) + ": see payload_bytes_max()");
}

void check_measured(const TensorRange& range, std::size_t tensor_elements) {
  if (range.first + range.values.size() <= tensor_elements) return;
  throw Error("a range of " + std::to_string(range.values.size()) + " elements from element " +
              std::to_string(range.first) + " is not within the measured tensor, which has " +
              std::to_string(tensor_elements) + ": call measure() with the whole tensor first");
}

}  // namespace

DenseCodec::DenseCodec(std::string spec, ValueCoder coder)
    : Codec(std::move(spec)), coder_(std::move(coder)) {}

Guarantee DenseCodec::guarantee(std::size_t elements) const {
  return coder_.quantiser().guarantee(elements);
}

std::size_t DenseCodec::bucket_elements() const { return coder_.quantiser().bucket_elements(); }

std::size_t DenseCodec::payload_bytes_max(std::size_t range_elements,
                                          std::size_t /*tensor_elements*/) const {
  return coder_.bytes_max(range_elements, 0);  // ranges start at buckets
}

void DenseCodec::measure(std::span<const float> tensor, const Rng& /*rng*/, Scale& scale,
                         ThreadPool& /*pool*/) const {
  scale.reset(tensor.size());
  coder_.quantiser().measure(tensor, scale.facts());
}

std::optional<std::size_t> DenseCodec::summable_from() const {
  if (!coder_.is_plain()) return std::nullopt;
  return 0;
}

Encoded DenseCodec::encode(const Scale& scale, TensorRange range, const Rng& rng,
                           std::span<std::byte> payload, Workspace& workspace) const {
  return encode_rounded(scale, range, rng, payload, {}, workspace);
}

Encoded DenseCodec::encode_rounded(const Scale& scale, TensorRange range, const Rng& rng,
                                   std::span<std::byte> payload, std::span<float> rounded,
                                   Workspace& workspace) const {
  const std::size_t tensor_elements = scale.facts().tensor_elements;
  check_measured(range, tensor_elements);
  const bool is_cut_at_buckets = range.first % bucket_elements() == 0 &&
                                 (range.values.size() % bucket_elements() == 0 ||
                                  range.first + range.values.size() == tensor_elements);
  if (!is_cut_at_buckets) {
    throw Error(spec() + ": a range of " + std::to_string(range.values.size()) +
                " elements from element " + std::to_string(range.first) +
                " is not cut at multiples of " + std::to_string(bucket_elements()) +
                ", the codec's bucket_elements()");
  }
  check_room(payload.size(), payload_bytes_max(range.values.size(), tensor_elements));
  const Slice slice{
      .values = range.values, .begin = 0, .count = range.values.size(), .position = range.first};
  return coder_.encode(slice, scale.facts(), rng, payload, workspace, rounded);
}

Decoded<void> DenseCodec::decode(std::span<const std::byte> payload, std::span<float> target,
                                 Workspace& workspace) const {
  return coder_.decode(payload, 0, target, workspace);
}

Decoded<void> DenseCodec::decode_add(std::span<const std::byte> payload, float weight,
                                     std::span<float> target, Workspace& workspace) const {
  return coder_.decode_add(payload, 0, weight, target, workspace);
}

// A sparse payload: how many elements are kept (4 bytes); where in its bucket the first kept value
// lies (4 bytes); the indices: Rice-coded, of fixed width within chunks, or as 12 bytes from which
// they follow; the kept values.
// The number kPoisoned alone: NaN everywhere.
namespace {

constexpr std::size_t kHeadBytes = 4 + 4;
constexpr std::size_t kDrawsBytes = 4 + 4 + 4;
constexpr std::uint32_t kPoisoned = 0xffffffffu;

DecodeError behind(std::size_t offset, DecodeError error) {
  return {error.what, error.byte_offset + offset};
}

}  // namespace

SparseCodec::SparseCodec(std::string spec, SparsifierPtr sparsifier, ValueCoder coder)
    : Codec(std::move(spec)), sparsifier_(std::move(sparsifier)), coder_(std::move(coder)) {}

Guarantee SparseCodec::guarantee(std::size_t elements) const {
  return sparsifier_->guarantee(elements,
                                coder_.quantiser().guarantee(sparsifier_->kept_max(elements)));
}

std::size_t SparseCodec::payload_bytes_max(std::size_t range_elements,
                                           std::size_t tensor_elements) const {
  const std::size_t kept = std::min(range_elements, sparsifier_->kept_max(tensor_elements));
  const std::size_t indices =
      sparsifier_->draws_indices() ? kDrawsBytes : rice_bytes_max(kept, range_elements);
  return kHeadBytes + indices + coder_.bytes_max(kept);
}

void SparseCodec::measure(std::span<const float> tensor, const Rng& rng, Scale& scale,
                          ThreadPool& pool) const {
  scale.reset(tensor.size());
  sparsifier_->select(tensor, rng, scale.facts(), pool);
  measure_kept(scale.facts());
}

void SparseCodec::collect(TensorRange range, Scale& scale) const {
  append_all_above(range, 0, scale.facts().indices, scale.facts().values);
}

void SparseCodec::collect(const Scale& collected, Scale& scale) const {
  const Scale::Facts& more = collected.facts();
  Scale::Facts& all = scale.facts();
  all.indices.insert(all.indices.end(), more.indices.begin(), more.indices.end());
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
}

void SparseCodec::finish_collecting(Scale& scale) const {
  sparsifier_->select_collected(scale.facts());
  measure_kept(scale.facts());
}

void SparseCodec::measure_kept(Scale::Facts& facts) const {
  if (!facts.poisoned) coder_.quantiser().measure(facts.values, facts);
}

std::optional<std::size_t> SparseCodec::summable_from() const {
  if (!sparsifier_->shares_indices() || !coder_.is_plain()) return std::nullopt;
  return kHeadBytes + kDrawsBytes;
}

Encoded SparseCodec::encode(const Scale& scale, TensorRange range, const Rng& rng,
                            std::span<std::byte> payload, Workspace& workspace) const {
  const Scale::Facts& facts = scale.facts();
  check_measured(range, facts.tensor_elements);
  check_room(payload.size(), payload_bytes_max(range.values.size(), facts.tensor_elements));
  if (facts.poisoned) {
    store_le(payload, 0, kPoisoned);
    return {.bytes = sizeof(kPoisoned), .finite = false};
  }
  const auto from = std::lower_bound(facts.indices.begin(), facts.indices.end(), range.first);
  const auto to = std::lower_bound(from, facts.indices.end(), range.first + range.values.size());
  const auto begin = static_cast<std::size_t>(from - facts.indices.begin());
  const auto kept = static_cast<std::size_t>(to - from);
  const std::size_t phase = begin % coder_.quantiser().bucket_elements();
  store_le(payload, 0, static_cast<std::uint32_t>(kept));
  store_le(payload, 4, static_cast<std::uint32_t>(phase));
  std::size_t bytes = kHeadBytes;
  if (sparsifier_->draws_indices()) {
    const RandomStream draws = facts.draws.advanced(range.first);
    store_le(payload, bytes, draws.offset);
    store_le(payload, bytes + 4, draws.step);
    store_le(payload, bytes + 8, facts.last_draw);
    bytes += kDrawsBytes;
  } else {
    bytes += encode_indices({from, to}, range, facts, payload.subspan(bytes), workspace);
  }
  const Slice slice{.values = facts.values, .begin = begin, .count = kept, .position = 0};
  const Encoded values = coder_.encode(slice, facts, rng, payload.subspan(bytes), workspace);
  return {.bytes = bytes + values.bytes, .finite = facts.finite};
}

std::size_t SparseCodec::encode_indices(std::span<const std::uint32_t> indices,
                                        const TensorRange& range, const Scale::Facts& facts,
                                        std::span<std::byte> payload, Workspace& workspace) const {
  const auto first = static_cast<std::uint32_t>(range.first);
  const std::size_t elements = range.values.size();
  const std::size_t bytes = rice_encode(indices, first, elements, payload);
  const std::size_t chunk = sparsifier_->chunk_elements();
  if (chunk == 0 || range.first % chunk != 0) return bytes;
  const bool has_whole_chunks =
      elements % chunk == 0 || range.first + elements == facts.tensor_elements;
  if (!has_whole_chunks || indices.size() != sparsifier_->kept_max(elements)) return bytes;
  const ChunkCounts counts = chunk_counts(elements);
  if (fixed_index_bytes(indices.size(), counts) >= bytes) return bytes;
  return fixed_indices_encode(indices, first, counts, workspace.buffers().found.get(indices.size()),
                              payload);
}

ChunkCounts SparseCodec::chunk_counts(std::size_t range_elements) const {
  const std::size_t chunk = sparsifier_->chunk_elements();
  return {.chunk_elements = chunk,
          .kept = sparsifier_->kept_max(chunk),
          .kept_rest = sparsifier_->kept_max(range_elements % chunk)};
}

// What is kept is little: reading it back costs next to nothing.
Encoded SparseCodec::encode_rounded(const Scale& scale, TensorRange range, const Rng& rng,
                                    std::span<std::byte> payload, std::span<float> rounded,
                                    Workspace& workspace) const {
  const Encoded encoded = encode(scale, range, rng, payload, workspace);
  GW_CHECK(decode(payload.first(encoded.bytes), rounded, workspace).has_value());
  return encoded;
}

Decoded<std::size_t> SparseCodec::decode_indices(std::span<const std::byte> bytes,
                                                 std::size_t range_elements,
                                                 std::span<std::uint32_t> indices,
                                                 Workspace& workspace) const {
  if (sparsifier_->chunk_elements() > 0 && !bytes.empty() && bytes[0] == kFixedWidth) {
    if (indices.size() != sparsifier_->kept_max(range_elements)) {
      return Unexpected{DecodeError{"indices are not as many as the chunks keep", 0}};
    }
    return fixed_indices_decode(bytes, range_elements, chunk_counts(range_elements), indices);
  }
  if (!sparsifier_->draws_indices()) return rice_decode(bytes, range_elements, indices);
  if (bytes.size() < kDrawsBytes) {
    return Unexpected{DecodeError{"payload ends inside its indices", bytes.size()}};
  }
  const RandomStream draws{load_le<std::uint32_t>(bytes, 0), load_le<std::uint32_t>(bytes, 4)};
  const auto last = load_le<std::uint32_t>(bytes, 8);
  // Whole blocks are searched, so there may be more than expected: they go to other memory first.
  const auto found = workspace.buffers().found.get(kernel::kBlockElements + kernel::kSelectRoom);
  std::size_t kept = 0;
  for (std::size_t first = 0; first < range_elements; first += kernel::kBlockElements) {
    const std::size_t count = std::min(kernel::kBlockElements, range_elements - first);
    const std::size_t more = kernel::select_drawn(draws.advanced(first), last, count,
                                                  static_cast<std::uint32_t>(first), found, {});
    if (more > indices.size() - kept) {
      return Unexpected{DecodeError{"more indices than values", 0}};
    }
    std::copy_n(found.begin(), more, indices.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += more;
  }
  if (kept < indices.size()) return Unexpected{DecodeError{"fewer indices than values", 0}};
  return kDrawsBytes;
}

Decoded<SparseCodec::Kept> SparseCodec::decode_kept(std::span<const std::byte> payload,
                                                    std::size_t range_elements,
                                                    Workspace& workspace) const {
  if (payload.size() < sizeof(kPoisoned)) {
    return Unexpected{DecodeError{"payload ends inside its head", payload.size()}};
  }
  const auto kept = load_le<std::uint32_t>(payload, 0);
  if (kept == kPoisoned) {
    if (payload.size() > sizeof(kPoisoned)) {
      return Unexpected{DecodeError{"poisoned payload is too long", sizeof(kPoisoned)}};
    }
    return Kept{.indices = {}, .values = {}, .poisoned = true};
  }
  if (payload.size() < kHeadBytes) {
    return Unexpected{DecodeError{"payload ends inside its head", payload.size()}};
  }
  const auto phase = load_le<std::uint32_t>(payload, 4);
  if (kept > range_elements) return Unexpected{DecodeError{"more kept than there are", 0}};
  if (phase >= coder_.quantiser().bucket_elements()) {
    return Unexpected{DecodeError{"kept values start behind their bucket", 4}};
  }
  const auto indices = workspace.buffers().indices.get(kept);
  const auto index_bytes =
      decode_indices(payload.subspan(kHeadBytes), range_elements, indices, workspace);
  if (!index_bytes) return Unexpected{behind(kHeadBytes, index_bytes.error())};
  const std::size_t head = kHeadBytes + *index_bytes;
  const auto values = workspace.buffers().values.get(kept);
  const auto decoded = coder_.decode(payload.subspan(head), phase, values, workspace);
  if (!decoded) return Unexpected{behind(head, decoded.error())};
  return Kept{.indices = indices, .values = values};
}

Decoded<void> SparseCodec::decode(std::span<const std::byte> payload, std::span<float> target,
                                  Workspace& workspace) const {
  const auto kept = decode_kept(payload, target.size(), workspace);
  if (!kept) return Unexpected{kept.error()};
  std::fill(target.begin(), target.end(), 0.0f);
  write(*kept, target);
  return {};
}

Decoded<void> SparseCodec::decode_to_zeros(std::span<const std::byte> payload,
                                           std::span<float> target, Workspace& workspace) const {
  const auto kept = decode_kept(payload, target.size(), workspace);
  if (!kept) return Unexpected{kept.error()};
  write(*kept, target);
  return {};
}

void SparseCodec::write(const Kept& kept, std::span<float> target) {
  if (kept.poisoned) {
    std::fill(target.begin(), target.end(), std::numeric_limits<float>::quiet_NaN());
  }
  for (std::size_t i = 0; i < kept.indices.size(); ++i) target[kept.indices[i]] = kept.values[i];
}

Decoded<void> SparseCodec::decode_add(std::span<const std::byte> payload, float weight,
                                      std::span<float> target, Workspace& workspace) const {
  const auto kept = decode_kept(payload, target.size(), workspace);
  if (!kept) return Unexpected{kept.error()};
  if (kept->poisoned) {
    std::fill(target.begin(), target.end(), std::numeric_limits<float>::quiet_NaN());
  }
  for (std::size_t i = 0; i < kept->indices.size(); ++i) {
    target[kept->indices[i]] += weight * kept->values[i];
  }
  return {};
}

}  // namespace gradwire
