// CodeNetwork: from values to the numbers of a code and back, sixteen values at a time, learned as
// it is used. Three kinds, each in a file of its own:
//
// - linear: one convolution each way. The published stack without its non-linearities is no more
//   than that, and this way it takes a hundredth of the time.
// - deep: the published stack, 1-D convolutions of 1-64-128-256-64 channels, kernel 3, stride 2,
//   leaky ReLU, one to the channels of the code, and transposed ones back. On libtorch.
// - plain: the values themselves. Learns nothing; for comparison.
//
// Everything is a function of the seed and of what was learned from: ranks that learn from the same
// vectors have the same bits. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gradwire {

inline constexpr std::size_t kCodeBlock = 16;

// Blocks of so many values; the last one may be short, and counts as if zeros followed.
constexpr std::size_t blocks_of(std::size_t values) {
  return (values + kCodeBlock - 1) / kCodeBlock;
}

// How much it counts that the codes of all ranks are alike, where one stands for all.
inline constexpr float kAlikeWeight = 0.01F;

enum class CodeKind { linear, deep, plain };

struct CodeNetworkOptions {
  CodeKind kind = CodeKind::linear;
  std::size_t channels = kCodeBlock;  // of the code: numbers for a block
  std::size_t decoders = 1;
  double learning_rate = 2e-3;
  std::uint64_t seed = 0;
};

// What is learned from in a step.
struct TrainingBatch {
  std::span<const std::vector<float>> vectors;  // of all ranks, equally long

  // Nothing: every vector has a code of its own, decoder 0 decodes them, and their mean from the
  // mean of the codes. Otherwise only that vector has one: decoder i makes vector i of it, and the
  // last decoder the leader's own.
  std::optional<std::size_t> leader = {};

  std::span<const float> quantiser_steps;  // by channel: how coarse the code will be
  std::uint64_t step = 0;                  // for random numbers
};

class CodeNetwork {
 public:
  virtual ~CodeNetwork() = default;

  // Numbers by block, and in a block by channel.
  virtual std::vector<float> encode(std::span<const float> values) const = 0;
  virtual void decode(std::span<const float> code, std::size_t decoder,
                      std::span<float> values) const = 0;

  // One step of its optimiser.
  virtual void learn(const TrainingBatch& batch) = 0;

  // Weights and the optimiser's memory: all that the next step depends on, as so many numbers.
  virtual std::size_t numbers() const = 0;
  virtual std::vector<float> save() const = 0;
  virtual void load(std::span<const float> saved) = 0;
};

// Whether the mean of codes is the code of the mean.
constexpr bool is_linear(CodeKind kind) { return kind != CodeKind::deep; }

std::unique_ptr<CodeNetwork> make_code_network(const CodeNetworkOptions& options);

// The kinds.
std::unique_ptr<CodeNetwork> make_linear_code(const CodeNetworkOptions& options);
std::unique_ptr<CodeNetwork> make_deep_code(const CodeNetworkOptions& options);
std::unique_ptr<CodeNetwork> make_plain_code(const CodeNetworkOptions& options);

}  // namespace gradwire
