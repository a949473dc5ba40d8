// One convolution to the code, and for every decoder one back and a constant. It begins as the
// values themselves, or with fewer channels as the cosine transform of a block; decoders of other
// ranks' vectors begin at zero. All sums by hand, in
// an order that vectors of any width keep: the same bits on every machine.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gradwire/core/check.h"
#include "gradwire/method/lgc/adam.h"
#include "gradwire/method/lgc/code_network.h"
#include "gradwire/method/lgc/random_numbers.h"

namespace gradwire {
namespace {

// A block's code is made of so many values around it, of which so many are before it; a decoder
// writes so many, of which so many before it: what the published stack of kernels sees and writes.
constexpr std::size_t kSeen = 31;
constexpr std::size_t kSeenBefore = 7;
constexpr std::size_t kWritten = 29;
constexpr std::size_t kWrittenBefore = 6;

// Of a vector, what is learned from in one step at the most.
constexpr std::size_t kWindowBlocks = 256;

// Values of whole blocks with zeros before and behind, as far as convolutions reach.
class Row {
 public:
  explicit Row(std::size_t blocks) : values_(kSeenBefore + (blocks + 1) * kCodeBlock) {}
  Row(std::span<const float> values, std::size_t first_block, std::size_t blocks) : Row(blocks) {
    const std::size_t first = first_block * kCodeBlock;
    const std::size_t count = std::min(blocks * kCodeBlock, values.size() - first);
    std::ranges::copy(values.subspan(first, count), values_.begin() + kSeenBefore);
  }

  std::size_t blocks() const { return (values_.size() - kSeenBefore) / kCodeBlock - 1; }
  // From so many values before a block on.
  float* at(std::size_t block, std::size_t before) {
    return values_.data() + kSeenBefore + block * kCodeBlock - before;
  }
  const float* at(std::size_t block, std::size_t before) const {
    return values_.data() + kSeenBefore + block * kCodeBlock - before;
  }
  std::span<float> inside() {
    return std::span(values_).subspan(kSeenBefore, blocks() * kCodeBlock);
  }
  std::span<const float> inside() const {
    return std::span(values_).subspan(kSeenBefore, blocks() * kCodeBlock);
  }

 private:
  std::vector<float> values_;
};

// Of the orthonormal cosine transform.
float cosine(std::size_t channel, std::size_t position) {
  const double length = std::sqrt((channel == 0 ? 1.0 : 2.0) / double{kCodeBlock});
  const double angle = std::numbers::pi * (static_cast<double>(position) + 0.5) *
                       static_cast<double>(channel) / double{kCodeBlock};
  return static_cast<float>(length * std::cos(angle));
}

class LinearCode final : public CodeNetwork {
 public:
  explicit LinearCode(const CodeNetworkOptions& options)
      : options_(options),
        channels_(options.channels),
        weights_((kSeen + options.decoders * kWritten) * channels_ + options.decoders),
        gradients_(weights_.size()),
        adam_(weights_.size(), options.learning_rate) {
    for (std::size_t c = 0; c < channels_; ++c) {
      for (std::size_t i = 0; i < kCodeBlock; ++i) {
        const float first = channels_ == kCodeBlock ? (i == c ? 1.0F : 0.0F) : cosine(c, i);
        encoder(weights_)[(kSeenBefore + i) * channels_ + c] = first;
        decoder(weights_, options.decoders - 1)[c * kWritten + kWrittenBefore + i] = first;
      }
    }
  }

  std::vector<float> encode(std::span<const float> values) const override {
    return encode(Row(values, 0, blocks_of(values.size())));
  }

  void decode(std::span<const float> code, std::size_t which,
              std::span<float> values) const override {
    const Row row = decode(code, which);
    std::ranges::copy(row.inside().first(values.size()), values.begin());
  }

  void learn(const TrainingBatch& batch) override {
    const std::size_t all = blocks_of(batch.vectors.front().size());
    if (all == 0) return;
    const std::size_t some = std::min(all, kWindowBlocks);
    const std::size_t first = draw_window(options_.seed, batch.step, some, all);
    std::vector<Row> rows;
    double squares = 0;
    for (const std::vector<float>& vector : batch.vectors) {
      rows.emplace_back(vector, first, some);
      for (const float value : rows.back().inside()) squares += double{value} * double{value};
    }
    if (!(squares > 0)) return;
    std::ranges::fill(gradients_, 0.0F);
    const float unit = static_cast<float>(2 / squares);
    if (batch.leader) {
      learn_from_leader(batch, rows, unit);
    } else {
      learn_from_all(batch, rows, unit);
    }
    adam_.move(weights_, gradients_);
  }

  std::size_t numbers() const override { return weights_.size() + adam_.numbers(); }
  std::vector<float> save() const override {
    std::vector<float> saved = weights_;
    adam_.save(saved);
    return saved;
  }
  void load(std::span<const float> saved) override {
    std::ranges::copy(saved.first(weights_.size()), weights_.begin());
    saved = saved.subspan(weights_.size());
    adam_.load(saved);
    GW_CHECK(saved.empty());
  }

 private:
  // Where weights, or their gradients, lie. The encoder's by position and channel, a decoder's by
  // channel and position: so that what is next to each other can be worked on together.
  float* encoder(std::vector<float>& of) const { return of.data(); }
  const float* encoder(const std::vector<float>& of) const { return of.data(); }
  float* decoder(std::vector<float>& of, std::size_t which) const {
    return of.data() + (kSeen + which * kWritten) * channels_;
  }
  const float* decoder(const std::vector<float>& of, std::size_t which) const {
    return of.data() + (kSeen + which * kWritten) * channels_;
  }
  std::size_t constant(std::size_t which) const {
    return (kSeen + options_.decoders * kWritten) * channels_ + which;
  }

  std::vector<float> encode(const Row& row) const {
    std::vector<float> code(row.blocks() * channels_);
    for (std::size_t block = 0; block < row.blocks(); ++block) {
      const float* const seen = row.at(block, kSeenBefore);
      float* const numbers = code.data() + block * channels_;
      for (std::size_t i = 0; i < kSeen; ++i) {
        const float* const weights = encoder(weights_) + i * channels_;
        for (std::size_t c = 0; c < channels_; ++c) numbers[c] += weights[c] * seen[i];
      }
    }
    return code;
  }

  Row decode(std::span<const float> code, std::size_t which) const {
    Row row(code.size() / channels_);
    std::ranges::fill(row.inside(), weights_[constant(which)]);
    for (std::size_t block = 0; block < row.blocks(); ++block) {
      float* const written = row.at(block, kWrittenBefore);
      for (std::size_t c = 0; c < channels_; ++c) {
        const float number = code[block * channels_ + c];
        const float* const weights = decoder(weights_, which) + c * kWritten;
        for (std::size_t i = 0; i < kWritten; ++i) written[i] += number * weights[i];
      }
    }
    return row;
  }

  // A code as it will be rounded, with noise in place of rounding.
  std::vector<float> noisy(std::vector<float> code, const TrainingBatch& batch,
                           std::size_t row) const {
    std::vector<float> noise(code.size());
    fill_random(options_.seed, batch.step, "noise of code " + std::to_string(row), noise);
    for (std::size_t i = 0; i < code.size(); ++i) {
      code[i] += 0.5F * batch.quantiser_steps[i % channels_] * noise[i];
    }
    return code;
  }

  // |s_i - D(z_i)|^2 over all i, and |mean s - D(mean z)|^2.
  void learn_from_all(const TrainingBatch& batch, const std::vector<Row>& rows, float unit) {
    std::vector<std::vector<float>> codes;
    std::vector<Row> errors;
    Row mean(rows.front().blocks());
    const float share = 1 / static_cast<float>(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      codes.push_back(noisy(encode(rows[i]), batch, i));
      errors.push_back(error_of(codes.back(), 0, rows[i]));
      add(share, errors.back(), mean);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      add(share, mean, errors[i]);
      add_encoder_gradients(add_decoder_gradients(errors[i], codes[i], 0, unit), rows[i]);
    }
  }

  // |s_i - D_i(z)|^2 over all i, where z is the leader's code, and |z_i - z_j|^2 over all pairs.
  void learn_from_leader(const TrainingBatch& batch, const std::vector<Row>& rows, float unit) {
    const std::size_t leader = *batch.leader;
    const std::vector<float> code = noisy(encode(rows[leader]), batch, leader);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t which = i == leader ? options_.decoders - 1 : i;
      const Row error = error_of(code, which, rows[i]);
      add_encoder_gradients(add_decoder_gradients(error, code, which, unit), rows[leader]);
    }
    std::vector<std::vector<float>> codes;
    std::vector<float> mean(code.size());
    const auto count = static_cast<float>(rows.size());
    for (const Row& row : rows) {
      codes.push_back(encode(row));
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += codes.back()[i] / count;
    }
    // Of all pairs: the gradient is 2 N (z_i - mean z), times the weight.
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < mean.size(); ++j) {
        codes[i][j] = unit * kAlikeWeight * count * (codes[i][j] - mean[j]);
      }
      add_encoder_gradients(codes[i], rows[i]);
    }
  }

  static void add(float weight, const Row& from, Row& to) {
    const std::span<const float> more = from.inside();
    const std::span<float> sum = to.inside();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * more[i];
  }

  // What a decoder makes of a code, less what it should have made.
  Row error_of(std::span<const float> code, std::size_t which, const Row& wanted) const {
    // What was written beyond the row does not count.
    const Row made = decode(code, which);
    Row error(made.blocks());
    std::ranges::copy(made.inside(), error.inside().begin());
    add(-1, wanted, error);
    return error;
  }

  // Of unit * error: the gradients of a decoder are added, and those of the code returned.
  std::vector<float> add_decoder_gradients(const Row& error, std::span<const float> code,
                                           std::size_t which, float unit) {
    std::vector<float> by_position(kWritten * channels_);  // its weights, the other way round
    for (std::size_t c = 0; c < channels_; ++c) {
      for (std::size_t i = 0; i < kWritten; ++i) {
        by_position[i * channels_ + c] = decoder(weights_, which)[c * kWritten + i];
      }
    }
    std::vector<float> code_gradients(code.size());
    float sum = 0;
    for (std::size_t block = 0; block < error.blocks(); ++block) {
      const float* const written = error.at(block, kWrittenBefore);
      float* const numbers = code_gradients.data() + block * channels_;
      for (std::size_t i = 0; i < kWritten; ++i) {
        const float gradient = unit * written[i];
        const float* const weights = by_position.data() + i * channels_;
        for (std::size_t c = 0; c < channels_; ++c) numbers[c] += weights[c] * gradient;
      }
      for (std::size_t c = 0; c < channels_; ++c) {
        float* const gradients = decoder(gradients_, which) + c * kWritten;
        const float number = unit * code[block * channels_ + c];
        for (std::size_t i = 0; i < kWritten; ++i) gradients[i] += number * written[i];
      }
    }
    for (const float value : error.inside()) sum += value;
    gradients_[constant(which)] += unit * sum;
    return code_gradients;
  }

  void add_encoder_gradients(std::span<const float> code_gradients, const Row& row) {
    for (std::size_t block = 0; block < row.blocks(); ++block) {
      const float* const seen = row.at(block, kSeenBefore);
      const float* const numbers = code_gradients.data() + block * channels_;
      for (std::size_t i = 0; i < kSeen; ++i) {
        float* const gradients = encoder(gradients_) + i * channels_;
        for (std::size_t c = 0; c < channels_; ++c) gradients[c] += numbers[c] * seen[i];
      }
    }
  }

  const CodeNetworkOptions options_;
  const std::size_t channels_;
  std::vector<float> weights_;
  std::vector<float> gradients_;
  Adam adam_;
};

}  // namespace

std::unique_ptr<CodeNetwork> make_linear_code(const CodeNetworkOptions& options) {
  return std::make_unique<LinearCode>(options);
}

}  // namespace gradwire
