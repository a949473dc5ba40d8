// Data to try codecs on. Pure functions of the generator: the same one gives the same values, and a
// shorter tensor is the beginning of a longer one.
#pragma once

#include <span>

#include "gradwire/core/random.h"

namespace gradwire::bench {

// Independent standard normal values.
void fill_gaussian(const Rng& rng, std::span<float> values);

// Values like the gradient of a network, layer after layer: layers differ in size, and in scale by
// up to three decades; within a layer the rows (the weights of one neuron) differ too, which makes
// the tails heavy; and the rows of the few dead neurons are exactly zero.
void fill_gradients(const Rng& rng, std::span<float> values);

}  // namespace gradwire::bench
