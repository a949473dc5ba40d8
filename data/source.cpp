#include "data/source.h"

#include <filesystem>
#include <vector>

#include "data/generated.h"
#include "data/image_source.h"
#include "data/open_path.h"
#include "data/segment_source.h"
#include "data/text_source.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/file/file_failure.h"

namespace gradwire::data {
namespace {

using OpenNamed = std::unique_ptr<Source> (*)(const SourceOptions& options);

// A directory that something else brings.
std::unique_ptr<Source> open_installed(std::string_view name, const std::filesystem::path& path,
                                       std::string_view how_to_get, const SourceOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    fail_file(path, "there is no such directory; call " + std::string(how_to_get));
  }
  return open_directory(path, std::string(name), options);
}

std::unique_ptr<Source> open_fashion_mnist(const SourceOptions& options) {
  return open_installed("fashion-mnist", "/usr/share/datasets/fashion-mnist",
                        "apt-get install dataset-fashion-mnist", options);
}

std::unique_ptr<Source> open_mnist(const SourceOptions& options) {
  return open_installed("mnist", "datasets/mnist", "tools/get-data mnist", options);
}

std::unique_ptr<Source> open_cifar10(const SourceOptions& options) {
  return open_installed("cifar10", "datasets/cifar10", "tools/get-data cifar10", options);
}

std::unique_ptr<Source> open_generated(const SourceOptions& options) {
  GeneratedImages images = generate_images(options.seed);
  return make_image_source(std::move(images.train), std::move(images.test),
                           {.name = "generated", .classes = kGeneratedClasses});
}

std::unique_ptr<Source> open_generated_text(const SourceOptions& options) {
  const std::string text =
      options.words ? generate_words(options.seed) : generate_text(options.seed);
  return make_text_source(cut_text(text, options), "generated-text", options);
}

std::unique_ptr<Source> open_generated_segments(const SourceOptions& options) {
  GeneratedSegments segments = generate_segments(options.seed);
  return make_segment_source(std::move(segments.train), std::move(segments.test),
                             {.name = "generated-segments", .classes = kSegmentClasses});
}

struct Named {
  const char* name;
  OpenNamed open;
};

constexpr Named kNamed[] = {
    {"fashion-mnist", open_fashion_mnist},
    {"mnist", open_mnist},
    {"cifar10", open_cifar10},
    {"generated", open_generated},
    {"generated-text", open_generated_text},
    {"generated-segments", open_generated_segments},
};

[[noreturn]] void fail_unknown(const std::string& what) {
  std::vector<std::string> names;
  std::string list;
  for (const Named& named : kNamed) {
    names.emplace_back(named.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto nearest = nearest_name(what, names);
  throw UsageError("there is no data called '" + what + "', and no file or directory either; " +
                   (nearest ? "did you mean '" + *nearest + "'?" : "known names are " + list));
}

}  // namespace

std::unique_ptr<Source> open_source(std::string_view what, const SourceOptions& options) {
  if (options.context == 0) throw Error("a sample of text has at least one token, not 0");
  for (const Named& named : kNamed) {
    if (what == named.name) return named.open(options);
  }
  const std::filesystem::path path(what);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) fail_unknown(std::string(what));
  return open_path(path, options);
}

}  // namespace gradwire::data
