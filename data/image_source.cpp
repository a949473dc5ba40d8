#include "data/image_source.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gradwire/core/check.h"
#include "gradwire/wire/frame.h"

namespace gradwire::data {
namespace {

using Table = std::array<float, 256>;  // the value of every byte

// From counts, which are exact, so that the order of the images does not matter.
Table normalising_table(const std::array<std::uint64_t, 256>& counts) {
  double pixels = 0, sum = 0, squares = 0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    const auto count = static_cast<double>(counts[value]);
    pixels += count;
    sum += count * static_cast<double>(value);
    squares += count * static_cast<double>(value * value);
  }
  const double mean = sum / pixels;
  const double variance = squares / pixels - mean * mean;
  const double deviation = variance > 1e-6 ? std::sqrt(variance) : 1;  // a channel of one colour
  Table table;
  for (std::size_t value = 0; value < table.size(); ++value) {
    table[value] = static_cast<float>((static_cast<double>(value) - mean) / deviation);
  }
  return table;
}

std::vector<Table> normalising_tables(const Images& images) {
  std::vector<Table> tables;
  const std::size_t channel_pixels = images.height * images.width;
  for (std::size_t channel = 0; channel < images.channels; ++channel) {
    std::array<std::uint64_t, 256> counts = {};
    for (std::size_t i = 0; i < images.size(); ++i) {
      for (const std::byte pixel :
           images.image(i).subspan(channel * channel_pixels, channel_pixels)) {
        ++counts[std::to_integer<std::size_t>(pixel)];
      }
    }
    tables.push_back(normalising_table(counts));
  }
  return tables;
}

void look_up(const Table& table, std::span<const std::byte> pixels, std::span<float> values) {
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    values[i] = table[std::to_integer<std::size_t>(pixels[i])];
  }
}

// Where in the padded image the crop begins, and whether it is mirrored.
struct Change {
  std::size_t top = 0;
  std::size_t left = 0;
  bool mirrored = false;

  static Change drawn(std::uint32_t number) {
    constexpr std::size_t kPlaces = 2 * kCropPadding + 1;
    const auto choice =
        static_cast<std::size_t>(std::uint64_t{number} * (2 * kPlaces * kPlaces) >> 32);
    return {choice / 2 / kPlaces, choice / 2 % kPlaces, choice % 2 == 1};
  }
};

// One row of a crop: what is left of it when it is moved by `left` over a padded row.
void crop_row(const Table& table, std::span<const std::byte> row, const Change& change,
              std::span<float> values) {
  const std::size_t from = std::max(change.left, kCropPadding) - kCropPadding;  // in the row
  const std::size_t to = kCropPadding + from - change.left;                     // in the crop
  const std::size_t count = row.size() - std::max(from, to);
  std::ranges::fill(values.first(to), 0.0f);
  look_up(table, row.subspan(from, count), values.subspan(to, count));
  std::ranges::fill(values.subspan(to + count), 0.0f);
  if (change.mirrored) std::ranges::reverse(values);
}

class ImageSource final : public Source {
 public:
  ImageSource(Images train, Images test, ImageSourceOptions options)
      : train_(std::move(train)),
        test_(std::move(test)),
        options_(std::move(options)),
        shape_{.kind = SampleShape::Kind::image,
               .channels = train_.channels,
               .height = train_.height,
               .width = train_.width,
               .classes = options_.classes},
        labels_(train_.labels.begin(), train_.labels.end()),
        tables_(normalising_tables(train_)) {
    GW_CHECK(train_.size() > 0 && test_.size() > 0 && train_.has_shape_of(test_));
    GW_CHECK(std::max(classes_of(train_), classes_of(test_)) <= options_.classes);
    GW_CHECK(!options_.crops_and_mirrors || shape_.width >= kCropPadding);
  }

  const std::string& name() const override { return options_.name; }
  const SampleShape& shape() const override { return shape_; }
  std::size_t size(Part part) const override {
    return part == Part::train ? train_.size() : test_.size();
  }
  std::span<const double> labels() const override { return labels_; }

  std::uint64_t checksum() const override {
    std::uint64_t sum = options_.crops_and_mirrors;
    for (const std::size_t extent : {shape_.channels, shape_.height, shape_.width}) {
      sum = gradwire::checksum(std::as_bytes(std::span(&extent, 1)), sum);
    }
    for (const Images* images : {&train_, &test_}) {
      sum = gradwire::checksum(images->pixels, sum);
      sum = gradwire::checksum(std::as_bytes(std::span(images->labels)), sum);
    }
    return sum;
  }

  void fill_train(std::span<const std::uint32_t> samples, const Rng& random,
                  Batch& batch) const override {
    resize(batch, samples.size());
    const RandomStream stream = random.stream(0, 0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      GW_CHECK(samples[i] < train_.size());
      if (options_.crops_and_mirrors) {
        crop(train_.image(samples[i]), Change::drawn(stream.at(static_cast<std::uint32_t>(i))),
             values_of(batch, i));
      } else {
        normalise(train_.image(samples[i]), values_of(batch, i));
      }
      batch.targets[i] = train_.labels[samples[i]];
    }
  }

  void fill_test(std::size_t first, std::size_t samples, Batch& batch) const override {
    GW_CHECK(first <= test_.size() && samples <= test_.size() - first);
    resize(batch, samples);
    for (std::size_t i = 0; i < samples; ++i) {
      normalise(test_.image(first + i), values_of(batch, i));
      batch.targets[i] = test_.labels[first + i];
    }
  }

 private:
  void resize(Batch& batch, std::size_t samples) const {
    batch.samples = samples;
    batch.values.resize(samples * shape_.elements());
    batch.tokens.clear();
    batch.targets.resize(samples);
  }

  std::span<float> values_of(Batch& batch, std::size_t sample) const {
    return std::span(batch.values).subspan(sample * shape_.elements(), shape_.elements());
  }

  void normalise(std::span<const std::byte> image, std::span<float> values) const {
    const std::size_t pixels = shape_.height * shape_.width;
    for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
      look_up(tables_[channel], image.subspan(channel * pixels, pixels),
              values.subspan(channel * pixels, pixels));
    }
  }

  void crop(std::span<const std::byte> image, const Change& change, std::span<float> values) const {
    const std::size_t width = shape_.width;
    for (std::size_t i = 0; i < shape_.channels * shape_.height; ++i) {
      const std::size_t channel = i / shape_.height;
      const std::size_t padded_row = i % shape_.height + change.top;
      const auto target = values.subspan(i * width, width);
      if (padded_row < kCropPadding || padded_row >= shape_.height + kCropPadding) {
        std::ranges::fill(target, 0.0f);
        continue;
      }
      const std::size_t row = channel * shape_.height + padded_row - kCropPadding;
      crop_row(tables_[channel], image.subspan(row * width, width), change, target);
    }
  }

  Images train_;
  Images test_;
  ImageSourceOptions options_;
  SampleShape shape_;
  std::vector<double> labels_;
  std::vector<Table> tables_;  // one a channel
};

}  // namespace

std::unique_ptr<Source> make_image_source(Images train, Images test, ImageSourceOptions options) {
  return std::make_unique<ImageSource>(std::move(train), std::move(test), std::move(options));
}

}  // namespace gradwire::data
