#include "advise/codec_speed.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/page_array.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire::advise {
namespace {

constexpr std::size_t kPieceElements = std::size_t{1} << 16;  // as exchanges have them
constexpr float kWeight = 0.5F;                               // of decode_add

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Lap {
  double measure = 0;
  double encode = 0;
  double decode = 0;
  double decode_add = 0;

  double total() const { return measure + encode + decode + decode_add; }
};

// One worker's codec at work. Nothing in it grows while a clock runs.
class CodecWork {
 public:
  CodecWork(const Codec& codec, const std::vector<MethodTensor>& tensors,
            std::span<const float> values)
      : codec_(codec), decoded_(values.size()), scratch_(kPieceElements + codec.bucket_elements()) {
    const std::size_t bucket = codec.bucket_elements();
    const std::size_t piece_max = std::max(bucket, kPieceElements / bucket * bucket);
    std::size_t payload_bytes = 0;
    std::size_t at = 0;
    for (const MethodTensor& tensor : tensors) {
      tensors_.push_back(values.subspan(at, tensor.elements()));
      for (std::size_t first = 0; first < tensor.elements(); first += piece_max) {
        const std::size_t elements = std::min(piece_max, tensor.elements() - first);
        const std::size_t bytes = codec.payload_bytes_max(elements, tensor.elements());
        pieces_.push_back({.tensor = tensors_.size() - 1,
                           .first = first,
                           .elements = elements,
                           .payload_at = payload_bytes,
                           .payload_bytes = bytes});
        payload_bytes += bytes;
      }
      at += tensor.elements();
    }
    scales_.resize(tensors_.size());
    payloads_.emplace(payload_bytes);
  }

  Lap lap() {
    ++rng_.step;
    // In braces, the order of evaluation is that of the text.
    return {.measure = seconds([&] { measure(); }),
            .encode = seconds([&] { encode(); }),
            .decode = seconds([&] { decode(); }),
            .decode_add = seconds([&] { decode_add(); })};
  }

  // Of the last lap.
  double payload_bytes() const {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces_) bytes += piece.payload_bytes;
    return static_cast<double>(bytes);
  }
  std::span<const float> decoded() const { return decoded_.span(); }

 private:
  struct Piece {
    std::size_t tensor = 0;
    std::size_t first = 0;  // element of the tensor
    std::size_t elements = 0;
    std::size_t payload_at = 0;
    std::size_t payload_bytes = 0;  // at first the most that there can be
  };

  void measure() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      codec_.measure(tensors_[i], rng_, scales_[i]);
    }
  }
  void encode() {
    for (Piece& piece : pieces_) {
      const TensorRange range{.values = tensors_[piece.tensor].subspan(piece.first, piece.elements),
                              .first = piece.first};
      const auto room = payloads_->span().subspan(
          piece.payload_at,
          codec_.payload_bytes_max(piece.elements, tensors_[piece.tensor].size()));
      piece.payload_bytes =
          codec_.encode(scales_[piece.tensor], range, rng_, room, workspace_).bytes;
    }
  }
  void decode() {
    std::size_t at = 0;
    for (const Piece& piece : pieces_) {
      check(codec_.decode(payload(piece), decoded_.span().subspan(at, piece.elements), workspace_));
      at += piece.elements;
    }
  }
  // Sums are made piece by piece, in the cache.
  void decode_add() {
    for (const Piece& piece : pieces_) {
      check(codec_.decode_add(payload(piece), kWeight, std::span(scratch_).first(piece.elements),
                              workspace_));
    }
  }
  std::span<const std::byte> payload(const Piece& piece) const {
    return payloads_->span().subspan(piece.payload_at, piece.payload_bytes);
  }
  void check(const Decoded<void>& result) const {
    if (result) return;
    throw Error(codec_.spec() + " refuses its own payload: " + result.error().what +
                "; this is a bug of gradwire");
  }

  const Codec& codec_;
  std::vector<std::span<const float>> tensors_;
  std::vector<Piece> pieces_;
  std::vector<Scale> scales_;  // by tensor
  std::optional<bench::PageArray<std::byte>> payloads_;
  bench::PageArray<float> decoded_;
  std::vector<float> scratch_;
  Rng rng_{.seed = 1};
  Workspace workspace_;
};

}  // namespace

CodecSpeed measure_codec(const Codec& codec, const std::vector<MethodTensor>& tensors,
                         std::span<const float> values, const HostLoad& load, std::size_t rounds) {
  GW_CHECK(!values.empty());
  const auto laps = run_at_once(load.at_once(), rounds, kRoundsFactor * rounds, [&] {
    return [work = std::make_unique<CodecWork>(codec, tensors, values)] { return work->lap(); };
  });
  const auto elements = static_cast<double>(values.size());
  CodecSpeed speed{.measure = slowest(laps, &Lap::measure) / elements,
                   .encode = slowest(laps, &Lap::encode) / elements,
                   .decode = slowest(laps, &Lap::decode) / elements,
                   .decode_add = slowest(laps, &Lap::decode_add) / elements};
  CodecWork once(codec, tensors, values);
  once.lap();
  speed.payload_bytes = once.payload_bytes() / elements;
  speed.relative_error = bench::relative_error(once.decoded(), values);
  return speed;
}

}  // namespace gradwire::advise
