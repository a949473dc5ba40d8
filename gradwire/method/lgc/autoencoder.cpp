#include "gradwire/method/lgc/autoencoder.h"

#include <cmath>

#include "gradwire/core/bit_pack.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// Steps of the optimiser for one step of training.
constexpr std::uint64_t kMoves = 2;

}  // namespace

Autoencoder::Autoencoder(const CodeNetworkOptions& network, double bits)
    : channels_(network.channels),
      network_(make_code_network(network)),
      quantiser_(network.channels, static_cast<std::size_t>(std::lround(bits * kCodeBlock))) {}

std::size_t Autoencoder::bytes(std::size_t values) const {
  return packed_number_bytes(symbols(values), widths());
}

std::vector<std::uint32_t> Autoencoder::encode(std::span<const float> values) const {
  std::vector<std::uint32_t> coded(symbols(values.size()));
  quantiser_.encode(network_->encode(values), coded);
  return coded;
}

void Autoencoder::decode(std::span<const std::uint32_t> sums, std::size_t ranks,
                         std::size_t decoder, std::span<float> values) const {
  GW_CHECK(sums.size() == symbols(values.size()));
  network_->decode(quantiser_.decode(sums, ranks), decoder, values);
}

void Autoencoder::learn(std::span<const std::vector<float>> vectors,
                        std::optional<std::size_t> leader, std::uint64_t step) {
  for (std::uint64_t move = 0; move < kMoves; ++move) {
    network_->learn({.vectors = vectors,
                     .leader = leader,
                     .quantiser_steps = quantiser_.steps(),
                     .step = step * kMoves + move});
  }
  // What is sent, as it will be sent.
  if (leader) {
    quantiser_.learn(network_->encode(vectors[*leader]));
    return;
  }
  std::vector<float> codes;
  for (const std::vector<float>& vector : vectors) {
    const std::vector<float> code = network_->encode(vector);
    codes.insert(codes.end(), code.begin(), code.end());
  }
  quantiser_.learn(codes);
}

std::vector<float> Autoencoder::save() const {
  std::vector<float> saved = network_->save();
  quantiser_.save(saved);
  return saved;
}

void Autoencoder::load(std::span<const float> saved) {
  if (saved.size() != numbers()) {
    throw Error("the saved code has " + std::to_string(saved.size()) + " numbers, and this one " +
                std::to_string(numbers()));
  }
  network_->load(saved.first(network_->numbers()));
  saved = saved.subspan(network_->numbers());
  quantiser_.load(saved);
}

}  // namespace gradwire
