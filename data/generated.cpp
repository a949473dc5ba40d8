#include "data/generated.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "data/draws.h"

namespace gradwire::data {
namespace {

constexpr std::size_t kSide = 28;
constexpr std::size_t kTrainImages = 6000;
constexpr std::size_t kTestImages = 1000;
constexpr std::size_t kTextBytes = 200'000;

Rng named(std::uint64_t seed, std::string_view what, std::uint64_t number) {
  return {.seed = seed, .step = number, .tensor = Rng::tensor_id(what), .purpose = Purpose::data};
}

using Field = std::array<double, kSide * kSide>;

// Numbers from -1 to 1 at the corners of cells of 4 x 4 pixels, and between them by their distance:
// only sums and products, which are the same everywhere. The right edge goes on at the left one.
Field smooth_field(const Rng& random) {
  constexpr std::size_t kCell = 4;
  constexpr std::size_t kCorners = kSide / kCell;
  const RandomStream stream = random.stream(0, 0);
  const auto corner = [&](std::size_t y, std::size_t x) {
    const auto index = static_cast<std::uint32_t>(y % kCorners * kCorners + x % kCorners);
    return static_cast<double>(stream.at(index)) * 0x1p-31 - 1;
  };
  Field field;
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      const double down = static_cast<double>(y % kCell) / kCell;
      const double right = static_cast<double>(x % kCell) / kCell;
      const std::size_t row = y / kCell;
      const std::size_t column = x / kCell;
      field[y * kSide + x] =
          (1 - down) * ((1 - right) * corner(row, column) + right * corner(row, column + 1)) +
          down * ((1 - right) * corner(row + 1, column) + right * corner(row + 1, column + 1));
    }
  }
  return field;
}

std::byte grey(double value) {
  return static_cast<std::byte>(static_cast<int>(std::clamp(value, 0.0, 255.0)));
}

// Appends image `number` of all, which is of class number % kGeneratedClasses.
void append_image(std::uint64_t seed, const std::array<Field, kGeneratedClasses>& classes,
                  std::size_t number, Images& images) {
  constexpr std::size_t kMoves = 9;
  constexpr double kClassStrength = 70, kOtherStrength = 50, kNoise = 60;
  Draws draws(named(seed, "generated image", number));
  const std::size_t label = number % kGeneratedClasses;
  const Field& field = classes[label];
  const Field other = smooth_field(named(seed, "generated background", number));
  const std::size_t down = draws.below(kMoves);
  const std::size_t right = draws.below(kMoves);
  const double strength = kClassStrength * (0.5 + draws.uniform());
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      const double moved = field[(y + down) % kSide * kSide + (x + right) % kSide];
      const double noise = draws.uniform() - draws.uniform();
      images.pixels.push_back(
          grey(128 + strength * moved + kNoise * noise + kOtherStrength * other[y * kSide + x]));
    }
  }
  images.labels.push_back(static_cast<std::uint8_t>(label));
}

}  // namespace

GeneratedImages generate_images(std::uint64_t seed) {
  std::array<Field, kGeneratedClasses> classes;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    classes[label] = smooth_field(named(seed, "generated class", label));
  }
  GeneratedImages generated;
  for (Images* images : {&generated.train, &generated.test}) {
    images->height = images->width = kSide;
    const bool is_train = images == &generated.train;
    const std::size_t first = is_train ? 0 : kTrainImages;
    const std::size_t count = is_train ? kTrainImages : kTestImages;
    images->pixels.reserve(count * kSide * kSide);
    for (std::size_t i = 0; i < count; ++i) append_image(seed, classes, first + i, *images);
  }
  return generated;
}

std::string generate_text(std::uint64_t seed) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz .,\n";
  constexpr std::size_t kChoices = 4;
  const std::size_t count = kCharacters.size();
  std::vector<std::size_t> next(count * count * kChoices);
  Draws chain(named(seed, "generated chain", 0));
  for (std::size_t& character : next) character = chain.below(count);

  Draws draws(named(seed, "generated text", 0));
  std::string text;
  std::size_t before = 0;
  std::size_t last = 1;
  while (text.size() < kTextBytes) {
    // The number of leading ones of three random bits: 0 half of the time, 1 a quarter, ...
    const auto ones = std::countl_one(static_cast<std::uint8_t>(draws.below(8) << 5));
    const std::size_t character =
        next[(before * count + last) * kChoices + static_cast<std::size_t>(ones)];
    text.push_back(kCharacters[character]);
    before = std::exchange(last, character);
  }
  return text;
}

}  // namespace gradwire::data
