// Data that needs no files. Pure functions of the seed, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// Images whose pixels have classes: labels are pixel by pixel.
struct SegmentImages {
  Images images;  // without labels
  std::vector<std::uint8_t> classes;
};

struct GeneratedSegments {
  SegmentImages train;
  SegmentImages test;
};

// Grey images of 28 x 28: two or three shapes, lighter or darker, on a smooth random background
// under noise. A pixel's class is the background, a disc, a square or a cross: brightness says
// nothing about the shape.
inline constexpr std::size_t kSegmentClasses = 4;
GeneratedSegments generate_segments(std::uint64_t seed);

// Text of 30 characters from a Markov chain: after any two characters one of four comes, with
// probabilities 1/2, 1/4, 1/8 and 1/8. What can be learned ends at 7/4 bits a character.
std::string generate_text(std::uint64_t seed);

// 60,000 words of a vocabulary of 4,095, of which word n has a share of about 1/n, in lines of 20.
// Three of four words are one of four that follow the word before them, as above; the others come
// by chance.
std::string generate_words(std::uint64_t seed);

}  // namespace gradwire::data
