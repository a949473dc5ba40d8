// Autoencoder: values to symbols of a few bits and back: a network that learns, and a quantiser of
// its code. Ranks that learn from the same vectors have the same one, to the bit. For one thread at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/method/lgc/code_network.h"
#include "gradwire/method/lgc/code_quantiser.h"

namespace gradwire {

class Autoencoder {
 public:
  // `bits` of the code for each of the values.
  Autoencoder(const CodeNetworkOptions& network, double bits);

  std::size_t symbols(std::size_t values) const { return blocks_of(values) * channels_; }
  std::span<const std::uint8_t> widths() const { return quantiser_.widths(); }
  // Of packed symbols: the same whatever it learns.
  std::size_t bytes(std::size_t values) const;

  std::vector<std::uint32_t> encode(std::span<const float> values) const;
  // What a decoder makes of the mean of so many ranks' codes.
  void decode(std::span<const std::uint32_t> sums, std::size_t ranks, std::size_t decoder,
              std::span<float> values) const;

  // A few steps of its optimiser; see TrainingBatch.
  void learn(std::span<const std::vector<float>> vectors, std::optional<std::size_t> leader,
             std::uint64_t step);

  // Everything that the next step depends on, as so many numbers.
  std::size_t numbers() const { return network_->numbers() + quantiser_.numbers(); }
  std::vector<float> save() const;
  // Throws Error for what save() cannot have given.
  void load(std::span<const float> saved);

 private:
  std::size_t channels_;
  std::unique_ptr<CodeNetwork> network_;
  CodeQuantiser quantiser_;
};

}  // namespace gradwire
