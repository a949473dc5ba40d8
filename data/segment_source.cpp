#include "data/segment_source.h"

#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/wire/frame.h"

namespace gradwire::data {
namespace {

std::size_t count_of(const SegmentImages& part) {
  return part.classes.size() / (part.images.height * part.images.width);
}

class SegmentSource final : public Source {
 public:
  SegmentSource(SegmentImages train, SegmentImages test, SegmentSourceOptions options)
      : train_(std::move(train)),
        test_(std::move(test)),
        name_(std::move(options.name)),
        shape_{.kind = SampleShape::Kind::segments,
               .height = train_.images.height,
               .width = train_.images.width,
               .classes = options.classes},
        places_(count_of(train_)) {
    GW_CHECK(train_.images.has_shape_of(test_.images) && !places_.empty());
    std::iota(places_.begin(), places_.end(), 0.0);
    double sum = 0;
    double squares = 0;
    for (const std::byte pixel : train_.images.pixels) {
      const double value = std::to_integer<int>(pixel);
      sum += value;
      squares += value * value;
    }
    const auto count = static_cast<double>(train_.images.pixels.size());
    mean_ = sum / count;
    const double variance = squares / count - mean_ * mean_;
    deviation_ = variance > 1e-6 ? std::sqrt(variance) : 1;
  }

  const std::string& name() const override { return name_; }
  const SampleShape& shape() const override { return shape_; }
  std::size_t size(Part part) const override {
    return count_of(part == Part::train ? train_ : test_);
  }
  std::span<const double> labels() const override { return places_; }

  std::uint64_t checksum() const override {
    std::uint64_t sum = 0;
    for (const SegmentImages* part : {&train_, &test_}) {
      sum = gradwire::checksum(part->images.pixels, sum);
      sum = gradwire::checksum(std::as_bytes(std::span(part->classes)), sum);
    }
    return sum;
  }

  void fill_train(std::span<const std::uint32_t> samples, const Rng&, Batch& batch) const override {
    resize(batch, samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) copy(train_, samples[i], i, batch);
  }

  void fill_test(std::size_t first, std::size_t samples, Batch& batch) const override {
    resize(batch, samples);
    for (std::size_t i = 0; i < samples; ++i) copy(test_, first + i, i, batch);
  }

 private:
  void resize(Batch& batch, std::size_t samples) const {
    batch.samples = samples;
    batch.tokens.clear();
    batch.values.resize(samples * shape_.elements());
    batch.targets.resize(samples * shape_.targets());
  }

  void copy(const SegmentImages& part, std::size_t from, std::size_t to, Batch& batch) const {
    const std::size_t pixels = shape_.elements();
    GW_CHECK(from < count_of(part));
    for (std::size_t i = 0; i < pixels; ++i) {
      const double value = std::to_integer<int>(part.images.pixels[from * pixels + i]);
      batch.values[to * pixels + i] = static_cast<float>((value - mean_) / deviation_);
      batch.targets[to * pixels + i] = part.classes[from * pixels + i];
    }
  }

  SegmentImages train_;
  SegmentImages test_;
  std::string name_;
  SampleShape shape_;
  std::vector<double> places_;  // of the training samples
  double mean_ = 0;
  double deviation_ = 1;
};

}  // namespace

std::unique_ptr<Source> make_segment_source(SegmentImages train, SegmentImages test,
                                            SegmentSourceOptions options) {
  return std::make_unique<SegmentSource>(std::move(train), std::move(test), std::move(options));
}

}  // namespace gradwire::data
