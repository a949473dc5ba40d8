// The published stack: convolutions with leaky ReLUs, and transposed ones back. Nothing is padded
// on the way, so that a code means the same wherever its block is: the stack sees 31 values around
// a block of 16 and writes 29.
#include <algorithm>
#include <cmath>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/method/lgc/adam.h"
#include "gradwire/method/lgc/code_network.h"
#include "gradwire/method/lgc/convolution_stack.h"
#include "gradwire/method/lgc/random_numbers.h"

namespace gradwire {
namespace {

constexpr std::size_t kSeenBefore = 7;
constexpr std::size_t kSeenBehind = 8;
constexpr std::size_t kWrittenBefore = 6;

// Of a vector, what is learned from in one step at the most.
constexpr std::size_t kWindowBlocks = 32;

ConvolutionStack make_encoder(std::size_t channels) {
  const auto layer = [](std::size_t inputs, std::size_t outputs) {
    return Convolution({.inputs = inputs, .outputs = outputs, .kernel = 3, .stride = 2});
  };
  return ConvolutionStack({layer(1, 64), layer(64, 128), layer(128, 256), layer(256, 64),
                           Convolution({.inputs = 64, .outputs = channels})});
}

ConvolutionStack make_decoder(std::size_t channels) {
  const auto layer = [](std::size_t inputs, std::size_t outputs) {
    return Convolution({.kind = ConvolutionKind::transposed,
                        .inputs = inputs,
                        .outputs = outputs,
                        .kernel = 3,
                        .stride = 2});
  };
  return ConvolutionStack({layer(channels, 32), layer(32, 64), layer(64, 128), layer(128, 32),
                           Convolution({.inputs = 32, .outputs = 1, .kernel = 3})});
}

// How many numbers go into one output, on the average.
double fan_in(const ConvolutionShape& shape) {
  const double taps = static_cast<double>(shape.kernel * shape.inputs);
  const bool is_direct = shape.kind == ConvolutionKind::direct;
  return is_direct ? taps : taps / static_cast<double>(shape.stride);
}

void add(float weight, std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += weight * from[i];
}

Signal mean_of(const std::vector<Signal>& signals) {
  Signal mean(signals.front().length, signals.front().channels);
  const float share = 1 / static_cast<float>(signals.size());
  for (const Signal& signal : signals) add(share, signal.values, mean.values);
  return mean;
}

// Of values from a block on, so many blocks; behind the last value as if zeros followed.
Signal row_of(std::span<const float> values, std::size_t first_block, std::size_t blocks) {
  Signal row(blocks * kCodeBlock, 1);
  const auto from = values.subspan(first_block * kCodeBlock);
  std::ranges::copy(from.first(std::min(from.size(), row.length)), row.values.begin());
  return row;
}

// Weights lie as the kernels want them; states have them as PyTorch orders them.
class DeepCode final : public CodeNetwork {
 public:
  explicit DeepCode(const CodeNetworkOptions& options)
      : options_(options),
        encoder_(make_encoder(options.channels)),
        decoder_(make_decoder(options.channels)),
        weights_(encoder_.weights() + options.decoders * decoder_.weights()),
        gradients_(weights_.size()),
        transposed_(weights_.size()),
        adam_(weights_.size(), options.learning_rate) {
    std::vector<float> ordered(weights_.size());
    std::size_t layer = 0;
    draw_weights(encoder_, encoder_part(ordered), layer);
    for (std::size_t i = 0; i < options.decoders; ++i) {
      draw_weights(decoder_, decoder_part(ordered, i), layer);
    }
    from_torch_order(ordered, weights_);
  }

  std::vector<float> encode(std::span<const float> values) const override {
    if (values.empty()) return {};
    return encode_row(row_of(values, 0, blocks_of(values.size()))).back().values;
  }

  void decode(std::span<const float> code, std::size_t which,
              std::span<float> values) const override {
    if (values.empty()) return;
    Signal numbers(code.size() / options_.channels, options_.channels);
    std::ranges::copy(code, numbers.values.begin());
    const ConvolutionStack::Trace trace = decode_code(numbers, which);
    std::ranges::copy_n(trace.back().values.begin() + kWrittenBefore, std::ssize(values),
                        values.begin());
  }

  void learn(const TrainingBatch& batch) override {
    const std::size_t all = blocks_of(batch.vectors.front().size());
    if (all == 0) return;
    const std::size_t some = std::min(all, kWindowBlocks);
    const std::size_t first = draw_window(options_.seed, batch.step, some, all);
    std::vector<Signal> rows;
    double squares = 1e-12;
    for (const std::vector<float>& vector : batch.vectors) {
      rows.push_back(row_of(vector, first, some));
      for (const float value : rows.back().values) squares += double{value} * double{value};
    }
    const auto unit = static_cast<float>(2 / squares);
    std::ranges::fill(gradients_, 0.0F);
    transpose_weights();
    if (batch.leader) {
      learn_from_leader(batch, rows, unit);
    } else {
      learn_from_all(batch, rows, unit);
    }
    adam_.move(weights_, gradients_);
  }

  std::size_t numbers() const override { return weights_.size() + adam_.numbers(); }

  std::vector<float> save() const override {
    std::vector<float> ours = weights_;
    adam_.save(ours);
    std::vector<float> saved = ours;
    for_arrays([&](std::size_t first) {
      to_torch_order(std::span(ours).subspan(first, weights_.size()),
                     std::span(saved).subspan(first, weights_.size()));
    });
    return saved;
  }

  void load(std::span<const float> saved) override {
    GW_CHECK(saved.size() == numbers());
    std::vector<float> ours(saved.begin(), saved.end());
    for_arrays([&](std::size_t first) {
      from_torch_order(saved.subspan(first, weights_.size()),
                       std::span(ours).subspan(first, weights_.size()));
    });
    std::ranges::copy(std::span(ours).first(weights_.size()), weights_.begin());
    std::span<const float> memory = std::span(ours).subspan(weights_.size());
    adam_.load(memory);
    GW_CHECK(memory.empty());
  }

 private:
  // --- Where weights are, or what lies as they do ---

  template <class Floats>
  auto encoder_part(Floats& all) const -> decltype(std::span(all)) {
    return std::span(all).first(encoder_.weights());
  }
  template <class Floats>
  auto decoder_part(Floats& all, std::size_t which) const -> decltype(std::span(all)) {
    return std::span(all).subspan(encoder_.weights() + which * decoder_.weights(),
                                  decoder_.weights());
  }

  // Where the weights begin in a state, and the two arrays of Adam's that belong to them.
  template <class Visit>
  void for_arrays(const Visit& visit) const {
    for (std::size_t i = 0; i < 3; ++i) visit(i * weights_.size());
  }

  void to_torch_order(std::span<const float> from, std::span<float> to) const {
    encoder_.to_torch_order(encoder_part(from), encoder_part(to));
    for (std::size_t i = 0; i < options_.decoders; ++i) {
      decoder_.to_torch_order(decoder_part(from, i), decoder_part(to, i));
    }
  }
  void from_torch_order(std::span<const float> from, std::span<float> to) const {
    encoder_.from_torch_order(encoder_part(from), encoder_part(to));
    for (std::size_t i = 0; i < options_.decoders; ++i) {
      decoder_.from_torch_order(decoder_part(from, i), decoder_part(to, i));
    }
  }

  void transpose_weights() {
    encoder_.transpose(encoder_part(weights_), encoder_part(transposed_));
    for (std::size_t i = 0; i < options_.decoders; ++i) {
      decoder_.transpose(decoder_part(weights_, i), decoder_part(transposed_, i));
    }
  }

  // In PyTorch's order; constants are zero. `layer` counts on.
  void draw_weights(const ConvolutionStack& stack, std::span<float> ordered,
                    std::size_t& layer) const {
    for (std::size_t i = 0; i < stack.layers().size(); ++i, ++layer) {
      const ConvolutionShape& shape = stack.layers()[i].shape();
      const std::span<float> all = stack.of_layer(ordered, i);
      const std::span<float> matrix = all.first(all.size() - shape.outputs);
      const std::string name = "layer of a code " + std::to_string(2 * layer);
      fill_random(options_.seed, 0, name, matrix);
      const auto size = static_cast<float>(std::sqrt(6 / fan_in(shape)));
      for (float& weight : matrix) weight *= size;
    }
  }

  // --- Forward ---

  ConvolutionStack::Trace encode_row(const Signal& row) const {
    Signal seen(kSeenBefore + row.length + kSeenBehind, 1);
    std::ranges::copy(row.values, seen.values.begin() + kSeenBefore);
    return encoder_.forward(std::move(seen), encoder_part(weights_));
  }

  ConvolutionStack::Trace decode_code(const Signal& code, std::size_t which) const {
    return decoder_.forward(code, decoder_part(weights_, which));
  }

  // Adds noise in place of rounding to codes, channel by channel.
  void add_noise(const TrainingBatch& batch, std::span<Signal* const> codes) const {
    const std::size_t blocks = codes.front()->length;
    const std::size_t channels = options_.channels;
    std::vector<float> noise(codes.size() * channels * blocks);
    fill_random(options_.seed, batch.step, "noise of a code", noise);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      for (std::size_t c = 0; c < channels; ++c) {
        const float size = 0.5F * batch.quantiser_steps[c];
        for (std::size_t block = 0; block < blocks; ++block) {
          codes[i]->at(block)[c] += size * noise[(i * channels + c) * blocks + block];
        }
      }
    }
  }

  // --- Backward ---

  // Of unit / 2 |D(code) - wanted|^2: adds to the gradients of the decoder's weights, and returns
  // those of the code.
  Signal learn_decoder(const Signal& code, std::size_t which, const Signal& wanted, float unit) {
    const ConvolutionStack::Trace trace = decode_code(code, which);
    Signal gradients(trace.back().length, 1);
    // What is written before the first block, and behind the last, does not count.
    for (std::size_t i = 0; i < wanted.length; ++i) {
      const std::size_t at = kWrittenBefore + i;
      gradients.values[at] = unit * (trace.back().values[at] - wanted.values[i]);
    }
    return decoder_.backward(trace, std::move(gradients), decoder_part(transposed_, which),
                             decoder_part(gradients_, which));
  }

  void learn_encoder(const ConvolutionStack::Trace& trace, Signal code_gradients) {
    encoder_.backward(trace, std::move(code_gradients), encoder_part(transposed_),
                      encoder_part(gradients_));
  }

  // |s_i - D(z_i)|^2 over all i, and |mean s - D(mean z)|^2.
  void learn_from_all(const TrainingBatch& batch, const std::vector<Signal>& rows, float unit) {
    std::vector<ConvolutionStack::Trace> traces;
    std::vector<Signal> codes;
    std::vector<Signal*> noisy;
    for (const Signal& row : rows) {
      traces.push_back(encode_row(row));
      codes.push_back(traces.back().back());
    }
    for (Signal& code : codes) noisy.push_back(&code);
    add_noise(batch, noisy);
    const float share = 1 / static_cast<float>(rows.size());
    const Signal of_mean = learn_decoder(mean_of(codes), 0, mean_of(rows), unit);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Signal gradients = learn_decoder(codes[i], 0, rows[i], unit);
      add(share, of_mean.values, gradients.values);
      learn_encoder(traces[i], std::move(gradients));
    }
  }

  // |s_i - D_i(z)|^2 over all i, where z is the leader's code, and |z_i - z_j|^2 over all pairs.
  void learn_from_leader(const TrainingBatch& batch, const std::vector<Signal>& rows, float unit) {
    const std::size_t leader = *batch.leader;
    std::vector<ConvolutionStack::Trace> traces;
    std::vector<Signal> codes;
    for (const Signal& row : rows) {
      traces.push_back(encode_row(row));
      codes.push_back(traces.back().back());
    }
    Signal code = codes[leader];
    Signal* const noisy = &code;
    add_noise(batch, std::span(&noisy, 1));
    // Of all pairs: the gradient is 2 N (z_i - mean z), times the weight.
    const Signal mean = mean_of(codes);
    const float alike = unit * kAlikeWeight * static_cast<float>(rows.size());
    for (Signal& one : codes) {
      for (std::size_t i = 0; i < one.values.size(); ++i) {
        one.values[i] = alike * (one.values[i] - mean.values[i]);
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t which = i == leader ? options_.decoders - 1 : i;
      add(1, learn_decoder(code, which, rows[i], unit).values, codes[leader].values);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) learn_encoder(traces[i], std::move(codes[i]));
  }

  const CodeNetworkOptions options_;
  const ConvolutionStack encoder_;
  const ConvolutionStack decoder_;
  std::vector<float> weights_;  // of the encoder, then of each decoder
  std::vector<float> gradients_;
  std::vector<float> transposed_;
  Adam adam_;
};

}  // namespace

std::unique_ptr<CodeNetwork> make_deep_code(const CodeNetworkOptions& options) {
  return std::make_unique<DeepCode>(options);
}

}  // namespace gradwire
