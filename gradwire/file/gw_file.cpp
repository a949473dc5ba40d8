#include "gradwire/file/gw_file.h"

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "gradwire/codec/segments.h"
#include "gradwire/codec/workspace.h"
#include "gradwire/core/error.h"
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr std::size_t kSegmentElementsMax = std::size_t{1} << 20;

// Segments are encoded in batches, then written: enough to keep every thread busy, and no more in
// memory than that.
constexpr std::size_t kBatchSegmentsPerThread = 4;

Tensor decode_frames(const GwFile& file, ThreadPool& pool) {
  const std::vector<GwFrame>& frames = file.view.frames;
  Tensor tensor{.values = std::vector<float>(file.view.header.element_count),
                .shape = file.view.header.shape};
  std::vector<Workspace> workspaces(pool.threads());
  std::vector<Decoded<void>> results(frames.size());
  pool.run(frames.size(), [&](std::size_t i, std::size_t thread) {
    const Frame& frame = frames[i].frame;
    const std::span<float> target =
        std::span(tensor.values).subspan(frame.header.first_element, frame.header.element_count);
    results[i] = file.codec->decode(frame.payload, target, workspaces[thread]);
  });
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (results[i]) continue;
    const DecodeError& error = results[i].error();
    const std::size_t payload_at = frames[i].byte_offset + kFrameHeaderBytes;
    fail_file(file.path, DecodeError{error.what, payload_at + error.byte_offset});
  }
  return tensor;
}

// Turns segments of one tensor into frames. Thread-safe.
class FrameEncoder {
 public:
  FrameEncoder(std::span<const float> values, const Codec& codec, std::uint64_t seed)
      : values_(values),
        codec_(codec),
        codec_fingerprint_(fingerprint(codec.spec())),
        rng_{.seed = seed, .step = 0, .tensor = Rng::tensor_id(""), .rank = 0} {
    codec_.measure(values_, rng_, scale_);
  }

  // The frame at the front of `buffer`, which grows as needed.
  std::span<const std::byte> encode(std::size_t index, SegmentRange segment,
                                    std::vector<std::byte>& buffer, Workspace& workspace) const {
    const std::size_t payload_bytes_max =
        codec_.payload_bytes_max(segment.elements, values_.size());
    buffer.resize(std::max(buffer.size(), kFrameHeaderBytes + payload_bytes_max));
    const std::span<std::byte> payload = std::span(buffer).subspan(kFrameHeaderBytes);
    const TensorRange range{values_.subspan(segment.first, segment.elements), segment.first};
    const Encoded encoded = codec_.encode(scale_, range, rng_, payload, workspace);
    const FrameHeader header{.exchange = static_cast<std::uint32_t>(index),
                             .direction = Direction::up,
                             .poison = !encoded.finite || !scale_.is_finite(),
                             .codec_fingerprint = codec_fingerprint_,
                             .first_element = segment.first,
                             .element_count = segment.elements};
    write_frame_header(header, payload.first(encoded.bytes), buffer);
    return std::span(buffer).first(kFrameHeaderBytes + encoded.bytes);
  }

 private:
  std::span<const float> values_;
  const Codec& codec_;
  std::uint64_t codec_fingerprint_;
  Rng rng_;
  Scale scale_;
};

// Calls write(bytes) for what such a file holds, in order; the path is for errors.
template <class Write>
void write_frames(const std::filesystem::path& path, const Tensor& tensor, const Codec& codec,
                  std::uint64_t seed, ThreadPool& pool, const Write& write) {
  const std::vector<SegmentRange> segments =
      cut_segments({.elements = tensor.values.size(),
                    .bucket_elements = codec.bucket_elements(),
                    .segment_elements_max = kSegmentElementsMax});
  if (tensor.values.size() > kGwElementsMax) fail_file(path, "too many elements for a .gw file");
  if (!segments.empty() && segments.front().elements > kGwFrameElementsMax) {
    fail_file(path, "the codec's buckets have more elements than a frame of a .gw file may: " +
                        std::to_string(kGwFrameElementsMax));
  }

  write(gw_header_bytes({.spec = codec.spec(),
                         .shape = tensor.shape,
                         .element_count = tensor.values.size(),
                         .frame_count = segments.size(),
                         .seed = seed}));
  const FrameEncoder encoder(tensor.values, codec, seed);
  const std::size_t batch_max = kBatchSegmentsPerThread * pool.threads();
  std::vector<Workspace> workspaces(pool.threads());
  std::vector<std::vector<std::byte>> buffers(batch_max);
  std::vector<std::span<const std::byte>> frames(batch_max);
  for (std::size_t first = 0; first < segments.size(); first += batch_max) {
    const std::size_t batch = std::min(batch_max, segments.size() - first);
    pool.run(batch, [&](std::size_t i, std::size_t thread) {
      frames[i] = encoder.encode(first + i, segments[first + i], buffers[i], workspaces[thread]);
    });
    for (std::size_t i = 0; i < batch; ++i) write(frames[i]);
  }
}

}  // namespace

GwFile read_gw(const std::filesystem::path& path) { return parse_gw_file(path, read_file(path)); }

GwFile parse_gw_file(const std::filesystem::path& path, std::vector<std::byte> bytes) {
  GwFile file{.path = path, .bytes = std::move(bytes), .view = {}, .codec = nullptr};
  Decoded<GwView> view = parse_gw(file.bytes);
  if (!view) fail_file(path, view.error());
  file.view = std::move(*view);
  try {
    file.codec = make_codec(file.view.header.spec);
  } catch (const SpecError& error) {
    const auto* const spec = reinterpret_cast<const std::byte*>(file.view.header.spec.data());
    const auto spec_at = static_cast<std::size_t>(spec - file.bytes.data());
    const std::string what = error.what();
    fail_file(path, "at byte " + std::to_string(spec_at + error.position()) +
                        ": its codec is not known here: " + what.substr(0, what.find('\n')));
  }
  return file;
}

Tensor decode_gw(const GwFile& file, ThreadPool& pool) {
  try {
    return decode_frames(file, pool);
  } catch (const std::bad_alloc&) {
    fail_file(file.path, "needs " + std::to_string(file.view.header.element_count * sizeof(float)) +
                             " bytes when decoded, more than the memory there is");
  }
}

void write_gw(const std::filesystem::path& path, const Tensor& tensor, const Codec& codec,
              std::uint64_t seed, ThreadPool& pool) {
  AtomicFile file(path);
  write_frames(path, tensor, codec, seed, pool,
               [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

std::vector<std::byte> gw_bytes(const Tensor& tensor, const Codec& codec, std::uint64_t seed,
                                ThreadPool& pool) {
  std::vector<std::byte> all;
  write_frames("array", tensor, codec, seed, pool, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

}  // namespace gradwire
