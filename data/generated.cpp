#include "data/generated.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "data/draws.h"

namespace gradwire::data {
namespace {

constexpr std::size_t kSide = 28;
constexpr std::size_t kTrainImages = 6000;
constexpr std::size_t kTestImages = 1000;
constexpr std::size_t kTrainSegments = 1600;
constexpr std::size_t kTestSegments = 400;
constexpr std::size_t kTextBytes = 200'000;
constexpr std::size_t kTextWords = 60'000;
constexpr std::size_t kLineWords = 20;
constexpr std::size_t kWordOctaves = 12;
constexpr std::size_t kWords = (std::size_t{1} << kWordOctaves) - 1;

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

struct Shape {
  std::uint8_t label = 0;  // disc, square, cross: 1, 2, 3
  int y = 0;
  int x = 0;
  int radius = 0;
  double brightness = 0;

  bool has(int row, int column) const {
    const int down = std::abs(row - y);
    const int right = std::abs(column - x);
    if (label == 1) return down * down + right * right <= radius * radius;
    if (std::max(down, right) > radius) return false;
    return label == 2 || std::min(down, right) <= radius / 3;
  }
};

Shape draw_shape(Draws& draws) {
  const auto side = static_cast<int>(kSide);
  Shape shape{.label = static_cast<std::uint8_t>(1 + draws.below(kSegmentClasses - 1)),
              .y = static_cast<int>(draws.below(kSide)),
              .x = static_cast<int>(draws.below(kSide)),
              .radius = 4 + static_cast<int>(draws.below(4))};
  // As a whole within the image.
  shape.y = std::clamp(shape.y, shape.radius, side - 1 - shape.radius);
  shape.x = std::clamp(shape.x, shape.radius, side - 1 - shape.radius);
  shape.brightness = (draws.below(2) == 0 ? -1 : 1) * (35 + 45 * draws.uniform());
  return shape;
}

void append_segments(std::uint64_t seed, std::size_t number, SegmentImages& to) {
  constexpr double kBackground = 40, kNoise = 40;
  Draws draws(named(seed, "generated shapes", number));
  const Field background = smooth_field(named(seed, "generated ground", number));
  std::array<Shape, 3> shapes;
  const std::size_t count = 2 + draws.below(2);
  for (std::size_t i = 0; i < count; ++i) shapes[i] = draw_shape(draws);
  for (std::size_t i = 0; i < kSide * kSide; ++i) {
    const auto row = static_cast<int>(i / kSide);
    const auto column = static_cast<int>(i % kSide);
    std::uint8_t label = 0;
    double value = 128 + kBackground * background[i];
    for (std::size_t j = 0; j < count; ++j) {  // later ones cover earlier ones
      if (!shapes[j].has(row, column)) continue;
      label = shapes[j].label;
      value = 128 + shapes[j].brightness + kBackground / 2 * background[i];
    }
    to.images.pixels.push_back(grey(value + kNoise * (draws.uniform() - draws.uniform())));
    to.classes.push_back(label);
  }
}

// Words of one octave are as likely together as those of the next one: about one in n for word n.
std::size_t draw_word(Draws& draws) {
  const std::size_t first = std::size_t{1} << draws.below(kWordOctaves);
  return first - 1 + draws.below(first);
}

std::string word_text(std::size_t number) {
  std::string word;
  for (std::size_t rest = number + 1; rest > 0; rest = (rest - 1) / 26) {
    word.push_back(static_cast<char>('a' + (rest - 1) % 26));
  }
  return word;
}

// One of 0 to 3, with probabilities 1/2, 1/4, 1/8 and 1/8: the leading ones of three random bits.
std::size_t draw_choice(Draws& draws) {
  return static_cast<std::size_t>(std::countl_one(static_cast<std::uint8_t>(draws.below(8) << 5)));
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

GeneratedSegments generate_segments(std::uint64_t seed) {
  GeneratedSegments generated;
  for (SegmentImages* part : {&generated.train, &generated.test}) {
    part->images.height = part->images.width = kSide;
    const bool is_train = part == &generated.train;
    const std::size_t first = is_train ? 0 : kTrainSegments;
    const std::size_t count = is_train ? kTrainSegments : kTestSegments;
    for (std::size_t i = 0; i < count; ++i) append_segments(seed, first + i, *part);
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
    const std::size_t character = next[(before * count + last) * kChoices + draw_choice(draws)];
    text.push_back(kCharacters[character]);
    before = std::exchange(last, character);
  }
  return text;
}

std::string generate_words(std::uint64_t seed) {
  constexpr std::size_t kChoices = 4;
  std::vector<std::size_t> next(kWords * kChoices);
  Draws chain(named(seed, "generated word chain", 0));
  for (std::size_t& word : next) word = draw_word(chain);

  Draws draws(named(seed, "generated words", 0));
  std::string text;
  std::size_t last = 0;
  for (std::size_t i = 1; i <= kTextWords; ++i) {
    const bool is_from_chain = draws.below(4) > 0;
    last = is_from_chain ? next[last * kChoices + draw_choice(draws)] : draw_word(draws);
    text += word_text(last);
    text += i % kLineWords == 0 ? '\n' : ' ';
  }
  return text;
}

}  // namespace gradwire::data
