#include "data/text_source.h"

#include <algorithm>
#include <numeric>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/wire/frame.h"

namespace gradwire::data {
namespace {

using Tokens = std::vector<std::uint32_t>;

// The last token is only a target.
std::size_t samples_of(const Tokens& tokens, std::size_t context) {
  return tokens.empty() ? 0 : (tokens.size() - 1) / context;
}

class TextSource final : public Source {
 public:
  TextSource(TokenizedText text, std::string name, const SourceOptions& options)
      : text_(std::move(text)),
        name_(std::move(name)),
        is_moved_(options.augment),
        shape_{
            .kind = SampleShape::Kind::text, .width = options.context, .classes = text_.vocabulary},
        places_(samples_of(text_.train, options.context)) {
    std::iota(places_.begin(), places_.end(), 0.0);
  }

  const std::string& name() const override { return name_; }
  const SampleShape& shape() const override { return shape_; }
  std::size_t size(Part part) const override {
    return samples_of(part == Part::train ? text_.train : text_.test, shape_.width);
  }
  std::span<const double> labels() const override { return places_; }

  std::uint64_t checksum() const override {
    const std::uint64_t numbers[] = {shape_.width, shape_.classes, is_moved_};
    std::uint64_t sum = gradwire::checksum(std::as_bytes(std::span(numbers)));
    sum = gradwire::checksum(std::as_bytes(std::span(text_.train)), sum);
    return gradwire::checksum(std::as_bytes(std::span(text_.test)), sum);
  }

  void fill_train(std::span<const std::uint32_t> samples, const Rng& random,
                  Batch& batch) const override {
    resize(batch, samples.size());
    const RandomStream stream = random.stream(0, 0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      GW_CHECK(samples[i] < places_.size());
      const std::uint32_t number = stream.at(static_cast<std::uint32_t>(i));
      const std::size_t move = is_moved_ ? move_of(samples[i], number) : 0;
      copy(text_.train, samples[i] * shape_.width + move, i, batch);
    }
  }

  void fill_test(std::size_t first, std::size_t samples, Batch& batch) const override {
    GW_CHECK(first <= size(Part::test) && samples <= size(Part::test) - first);
    resize(batch, samples);
    for (std::size_t i = 0; i < samples; ++i) {
      copy(text_.test, (first + i) * shape_.width, i, batch);
    }
  }

 private:
  void resize(Batch& batch, std::size_t samples) const {
    batch.samples = samples;
    batch.values.clear();
    batch.tokens.resize(samples * shape_.width);
    batch.targets.resize(samples * shape_.width);
  }

  // Below a context, and not beyond the last place where a sample can begin.
  std::size_t move_of(std::size_t sample, std::uint32_t number) const {
    const std::size_t context = shape_.width;
    const std::size_t moves_max = text_.train.size() - 1 - context - sample * context;
    const std::size_t moves = std::min(context, moves_max + 1);
    return static_cast<std::size_t>(std::uint64_t{number} * moves >> 32);
  }

  void copy(const Tokens& tokens, std::size_t begin, std::size_t sample, Batch& batch) const {
    const auto window = std::span(tokens).subspan(begin, shape_.width + 1);
    const auto at = static_cast<std::ptrdiff_t>(sample * shape_.width);
    std::ranges::copy(window.first(shape_.width), batch.tokens.begin() + at);
    std::ranges::copy(window.last(shape_.width), batch.targets.begin() + at);
  }

  TokenizedText text_;
  std::string name_;
  bool is_moved_;
  SampleShape shape_;
  std::vector<double> places_;  // of the training samples
};

void check_long_enough(const Tokens& tokens, const char* part, const std::string& name,
                       std::size_t context) {
  if (samples_of(tokens, context) > 0) return;
  throw Error(name + ": its " + part + " part has " + std::to_string(tokens.size()) +
              " tokens, and a sample of " + std::to_string(context) + " takes " +
              std::to_string(context + 1) +
              ": choose a shorter context (--context), or a longer text");
}

}  // namespace

TokenizedText cut_text(std::string_view text, const SourceOptions& options) {
  const std::size_t cut = last_tenth(text, options.words);
  return cut_texts(text.substr(0, cut), text.substr(cut), options);
}

TokenizedText cut_texts(std::string_view train, std::string_view test,
                        const SourceOptions& options) {
  return options.words ? words_of(train, test) : characters_of(train, test);
}

std::unique_ptr<Source> make_text_source(TokenizedText text, std::string name,
                                         const SourceOptions& options) {
  GW_CHECK(options.context > 0);
  check_long_enough(text.train, "training", name, options.context);
  check_long_enough(text.test, "test", name, options.context);
  return std::make_unique<TextSource>(std::move(text), std::move(name), options);
}

}  // namespace gradwire::data
