#include "data/images.h"

#include <algorithm>
#include <string>

#include "data/cifar.h"
#include "data/gzip.h"
#include "data/idx.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"

namespace gradwire::data {
namespace {

IdxView parse_idx_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                       std::size_t dimensions) {
  Readable<IdxView> view = parse_idx(bytes, dimensions);
  if (!view) refuse_file(path, view.error());
  return std::move(*view);
}

std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path, std::size_t classes) {
  const std::vector<std::byte> bytes = read_plain_or_gzip(path);
  const IdxView view = parse_idx_file(path, bytes, 1);
  std::vector<std::uint8_t> labels;
  labels.reserve(view.elements.size());
  for (const std::byte byte : view.elements) {
    const auto label = std::to_integer<std::uint8_t>(byte);
    if (label >= classes) {
      refuse_file(path, {idx_header_bytes(1) + labels.size(),
                         "the label of record " + std::to_string(labels.size()) + ", from 0 to " +
                             std::to_string(classes - 1),
                         std::to_string(label)});
    }
    labels.push_back(label);
  }
  return labels;
}

}  // namespace

std::size_t classes_of(const Images& images) {
  return *std::ranges::max_element(images.labels) + std::size_t{1};
}

Images read_idx_images(const std::filesystem::path& images_path,
                       const std::filesystem::path& labels_path, std::size_t classes) {
  Images images;
  images.pixels = read_plain_or_gzip(images_path);
  const IdxView view = parse_idx_file(images_path, images.pixels, 3);
  images.height = view.dimensions[1];
  images.width = view.dimensions[2];
  images.labels = read_idx_labels(labels_path, classes);
  if (images.labels.size() != view.dimensions[0]) {
    fail_file(labels_path, "has " + std::to_string(images.labels.size()) + " labels for the " +
                               std::to_string(view.dimensions[0]) + " images of " +
                               images_path.string());
  }
  const auto header_bytes = static_cast<std::ptrdiff_t>(idx_header_bytes(3));
  images.pixels.erase(images.pixels.begin(), images.pixels.begin() + header_bytes);
  return images;
}

Images read_cifar_images(std::span<const std::filesystem::path> files) {
  Images images{.channels = kCifarChannels, .height = kCifarSide, .width = kCifarSide};
  for (const std::filesystem::path& file : files) {
    const std::vector<std::byte> bytes = read_file(file);
    const Readable<CifarView> view = parse_cifar(bytes);
    if (!view) refuse_file(file, view.error());
    images.pixels.reserve(images.pixels.size() + files.size() * bytes.size());
    for (std::size_t record = 0; record < view->records(); ++record) {
      const auto image = view->image(record);
      images.pixels.insert(images.pixels.end(), image.begin(), image.end());
      images.labels.push_back(view->label(record));
    }
  }
  return images;
}

Images take_images(const Images& images, std::span<const std::uint32_t> taken) {
  Images some{.channels = images.channels, .height = images.height, .width = images.width};
  some.pixels.reserve(taken.size() * images.elements());
  some.labels.reserve(taken.size());
  for (const std::uint32_t index : taken) {
    const auto image = images.image(index);
    some.pixels.insert(some.pixels.end(), image.begin(), image.end());
    some.labels.push_back(images.labels[index]);
  }
  return some;
}

}  // namespace gradwire::data
