// Data that needs no files. Pure functions of the seed, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/images.h"

namespace gradwire::data {

inline constexpr std::size_t kGeneratedClasses = 10;

struct GeneratedImages {
  Images train;
  Images test;
};

// Grey images of 28 x 28. A class is a smooth random field, without edges; an image is its class's
// field, moved by some pixels, of a strength of its own, under noise and under a smooth field that
// means nothing. To tell classes apart takes more than the mean image of each.
GeneratedImages generate_images(std::uint64_t seed);

// Text of 30 characters from a Markov chain: after any two characters one of four comes, with
// probabilities 1/2, 1/4, 1/8 and 1/8. What can be learned ends at 7/4 bits a character.
std::string generate_text(std::uint64_t seed);

}  // namespace gradwire::data
