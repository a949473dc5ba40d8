// Source: what a network learns from, and what it is tested on. Samples are numbered from 0 in each
// part. Immutable, and safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/core/random.h"

namespace gradwire::data {

// What one sample looks like.
struct SampleShape {
  enum class Kind {
    image,     // channels x height x width numbers, and a class
    features,  // `width` numbers, and a class
    text,      // `width` tokens, and the token behind each of them
    segments,  // an image as above, and a class for each pixel
  };

  Kind kind = Kind::image;
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;
  std::size_t classes = 0;  // of text: the size of the vocabulary

  std::size_t elements() const { return channels * height * width; }
  // Of a sample.
  std::size_t targets() const {
    if (kind == Kind::text) return width;
    return kind == Kind::segments ? height * width : 1;
  }
  bool operator==(const SampleShape&) const = default;
};

// Some samples, as a network takes them. Memory is kept from one fill to the next.
struct Batch {
  std::size_t samples = 0;
  std::vector<float> values = {};          // of all but text: samples x shape
  std::vector<std::int64_t> tokens = {};   // of text: samples x width
  std::vector<std::int64_t> targets = {};  // classes: samples x shape.targets()
};

enum class Part { train, test };

class Source {
 public:
  virtual ~Source() = default;

  virtual const std::string& name() const = 0;  // for records: "fashion-mnist", or a file's name
  virtual const SampleShape& shape() const = 0;
  virtual std::size_t size(Part part) const = 0;
  // What the training samples are split by: their classes; of text, their places.
  virtual std::span<const double> labels() const = 0;
  // Of everything that training and test depend on.
  virtual std::uint64_t checksum() const = 0;

  // Training samples, changed at random where that is usual for the data (`random` names this
  // batch's numbers; the same name gives the same batch). Samples may come in any order.
  virtual void fill_train(std::span<const std::uint32_t> samples, const Rng& random,
                          Batch& batch) const = 0;
  // Consecutive test samples, as they are.
  virtual void fill_test(std::size_t first, std::size_t samples, Batch& batch) const = 0;
};

struct SourceOptions {
  std::uint64_t seed = 1;     // of generated data, and of what is held out for tests
  std::size_t context = 128;  // tokens of a sample of text
  bool words = false;         // text is cut into words; otherwise into characters
  bool augment = true;        // false: training samples as they are
};

// "fashion-mnist", "mnist", "cifar10", "generated", "generated-text", "generated-segments", or a
// file or directory of idx, CIFAR-binary, LIBSVM or text. Throws FileError that names the file, the
// place in it and what was expected there; Error for a name that is neither.
std::unique_ptr<Source> open_source(std::string_view what, const SourceOptions& options);

}  // namespace gradwire::data
