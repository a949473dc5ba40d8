// Images in memory, a byte a pixel, and the files they come from. All readers throw FileError that
// names the file, the place in it, what was expected there and what was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace gradwire::data {

struct Images {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;
  std::vector<std::byte> pixels = {};     // image by image, channel by channel, row by row
  std::vector<std::uint8_t> labels = {};  // a class for each image

  std::size_t size() const { return labels.size(); }
  std::size_t elements() const { return channels * height * width; }
  std::span<const std::byte> image(std::size_t index) const {
    return std::span(pixels).subspan(index * elements(), elements());
  }
  bool has_shape_of(const Images& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
};

// One more than the largest label; there is an image.
std::size_t classes_of(const Images& images);

inline constexpr std::size_t kImageClassesMax = 256;

// Two idx files, plain or compressed by gzip. Labels are below `classes`.
Images read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels,
                       std::size_t classes = kImageClassesMax);

// CIFAR-binary files, one after the other.
Images read_cifar_images(std::span<const std::filesystem::path> files);

// Some of the images, in that order.
Images take_images(const Images& images, std::span<const std::uint32_t> taken);

}  // namespace gradwire::data
