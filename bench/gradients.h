// Generated values to measure with. Pure functions of the generator: the same generator gives the
// same values, and a shorter tensor is the beginning of a longer one.
#pragma once

#include <span>

#include "gradwire/core/random.h"

namespace gradwire::bench {

// Independent standard normal values.
void fill_gaussian(const Rng& rng, std::span<float> values);

// Values like the gradient of a network, layer after layer. Layers differ in size, and in scale by
// up to three decades. The rows of a layer (the weights of one neuron) differ in scale, too, which
// makes the tails heavy. The rows of a few dead neurons are exactly zero.
void fill_gradients(const Rng& rng, std::span<float> values);

}  // namespace gradwire::bench
