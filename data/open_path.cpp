#include "data/open_path.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

#include "data/cifar.h"
#include "data/feature_source.h"
#include "data/gzip.h"
#include "data/hold_out.h"
#include "data/image_source.h"
#include "data/images.h"
#include "data/refusal.h"
#include "data/text_source.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"

namespace gradwire::data {
namespace {

using Path = std::filesystem::path;

bool is_there(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::unique_ptr<Source> open_images(Images train, Images test, std::size_t classes,
                                    std::string name, const SourceOptions& options) {
  const bool is_cifar_like = train.channels == 3 && train.height == 32 && train.width == 32;
  return make_image_source(std::move(train), std::move(test),
                           {.name = std::move(name),
                            .classes = classes,
                            .crops_and_mirrors = is_cifar_like && options.augment});
}

std::unique_ptr<Source> open_images_held_out(const Path& path, const Images& images,
                                             std::string name, const SourceOptions& options) {
  if (images.size() < 2) fail_file(path, "has one image, and some must be held out for tests");
  const HoldOut parts = hold_out(images.size(), options.seed);
  return open_images(take_images(images, parts.train), take_images(images, parts.test),
                     classes_of(images), std::move(name), options);
}

// --- Directories ---------------------------------------------------------------------------------

// The first file, by name, that begins so.
std::optional<Path> find_file(const Path& directory, std::string_view begin) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) fail_file(directory, "cannot be read: " + error.message());
  std::vector<Path> found;
  for (const auto& entry : entries) {
    if (entry.path().filename().string().starts_with(begin)) found.push_back(entry.path());
  }
  if (found.empty()) return std::nullopt;
  return *std::ranges::min_element(found);
}

Path need_file(const Path& directory, const std::string& begin) {
  const std::optional<Path> path = find_file(directory, begin);
  if (!path) fail_file(directory / begin, "there is no file whose name begins so");
  return *path;
}

std::unique_ptr<Source> open_idx_directory(const Path& directory, std::string name,
                                           const SourceOptions& options) {
  Images train =
      read_idx_images(need_file(directory, "train-images"), need_file(directory, "train-labels"));
  const std::size_t classes = classes_of(train);
  const Path test_path = need_file(directory, "t10k-images");
  Images test = read_idx_images(test_path, need_file(directory, "t10k-labels"), classes);
  if (!train.has_shape_of(test)) {
    fail_file(test_path, "has images of " + std::to_string(test.height) + " x " +
                             std::to_string(test.width) + ", and those to train on have " +
                             std::to_string(train.height) + " x " + std::to_string(train.width));
  }
  return open_images(std::move(train), std::move(test), classes, std::move(name), options);
}

std::unique_ptr<Source> open_cifar_directory(const Path& directory, std::string name,
                                             const SourceOptions& options) {
  std::vector<Path> train;
  for (const char number : {'1', '2', '3', '4', '5'}) {
    train.push_back(directory / (std::string("data_batch_") + number + ".bin"));
  }
  const Path test[] = {directory / "test_batch.bin"};
  return open_images(read_cifar_images(train), read_cifar_images(test), kCifarClasses,
                     std::move(name), options);
}

// --- Text ----------------------------------------------------------------------------------------

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Text has no zero bytes, and most other files have some.
std::vector<std::byte> read_text_file(const Path& path) {
  std::vector<std::byte> bytes = read_file(path);
  const auto zero = std::ranges::find(bytes, std::byte{0});
  if (zero != bytes.end()) {
    refuse_file(path, {static_cast<std::size_t>(zero - bytes.begin()),
                       "text, since the file is neither idx, CIFAR-binary (.bin) nor LIBSVM",
                       "a zero byte"});
  }
  return bytes;
}

std::unique_ptr<Source> open_text_directory(const Path& directory, std::string name,
                                            const SourceOptions& options) {
  const bool has_valid = is_there(directory / "valid.txt");
  const auto train = read_text_file(directory / "train.txt");
  const auto test = read_text_file(directory / (has_valid ? "valid.txt" : "test.txt"));
  return make_text_source(cut_texts(as_text(train), as_text(test), options), std::move(name),
                          options);
}

// --- Files ---------------------------------------------------------------------------------------

std::string read_head(const Path& path) {
  constexpr std::size_t kHeadBytes = 4096;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_errno(path, "cannot be opened");
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

bool looks_like_idx(std::string_view head) {
  return is_gzip(std::as_bytes(std::span(head))) || head.starts_with(std::string_view("\0\0", 2));
}

// Whether the first line that is no comment is a number, and then a number, a colon and so on.
bool looks_like_libsvm(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r+");
    if (begin == line.npos || line[begin] == '#') continue;
    const char* const end = line.data() + line.size();
    double label = 0;
    const auto [behind, error] = std::from_chars(line.data() + begin, end, label);
    if (error != std::errc()) return false;
    std::size_t index = 0;
    const char* const word =
        std::find_if(behind, end, [](char c) { return c != ' ' && c != '\t'; });
    const auto [colon, index_error] = std::from_chars(word, end, index);
    return word != behind && index_error == std::errc() && colon != end && *colon == ':';
  }
  return false;
}

// The labels' file: "images" becomes "labels", and "idx3" becomes "idx1".
Path labels_beside(const Path& images) {
  std::string name = images.filename().string();
  for (const auto& [from, to] : {std::pair("images", "labels"), std::pair("idx3", "idx1")}) {
    const std::size_t place = name.find(from);
    if (place != name.npos) name.replace(place, std::string_view(from).size(), to);
  }
  if (name == images.filename()) {
    fail_file(images, "expected 'images' in the name, for which 'labels' gives the labels' file");
  }
  return images.parent_path() / name;
}

std::unique_ptr<Source> open_file(const Path& path, std::string name,
                                  const SourceOptions& options) {
  if (path.extension() == ".bin") {
    return open_images_held_out(path, read_cifar_images(std::span(&path, 1)), std::move(name),
                                options);
  }
  const std::string head = read_head(path);
  if (looks_like_idx(head)) {
    const Images images = read_idx_images(path, labels_beside(path));
    return open_images_held_out(path, images, std::move(name), options);
  }
  if (looks_like_libsvm(head)) return open_libsvm(path, std::move(name), options.seed);
  const std::vector<std::byte> text = read_text_file(path);
  return make_text_source(cut_text(as_text(text), options), std::move(name), options);
}

}  // namespace

std::unique_ptr<Source> open_directory(const Path& path, std::string name,
                                       const SourceOptions& options) {
  if (find_file(path, "train-images")) return open_idx_directory(path, std::move(name), options);
  if (find_file(path, "data_batch_")) return open_cifar_directory(path, std::move(name), options);
  if (is_there(path / "train.txt")) {
    return open_text_directory(path, std::move(name), options);
  }
  fail_file(path,
            "has no data to train on: expected idx files (train-images*, train-labels*, "
            "t10k-images*, t10k-labels*), CIFAR-binary files (data_batch_1.bin to 5, "
            "test_batch.bin) or text (train.txt and valid.txt)");
}

std::unique_ptr<Source> open_path(const Path& path, const SourceOptions& options) {
  const Path plain = path.lexically_normal();  // a directory's name may end in a slash
  std::string name = (plain.has_filename() ? plain : plain.parent_path()).filename().string();
  std::error_code ignored;  // what is there but cannot be looked at is for the readers to say
  const bool is_directory = std::filesystem::is_directory(path, ignored);
  if (is_directory) return open_directory(path, std::move(name), options);
  return open_file(path, std::move(name), options);
}

}  // namespace gradwire::data
