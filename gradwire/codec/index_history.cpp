#include "gradwire/codec/index_history.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "gradwire/codec/age_classes.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr std::uint32_t kOne = 256;  // of fixed-point numbers
constexpr unsigned kFade = 5;        // a message counts for about 2^5 messages

constexpr std::size_t kRowClasses = 40;
constexpr std::size_t kDensityClasses = 3;
constexpr std::size_t kColumnClasses = 8;
constexpr std::size_t kClasses = kDensityClasses * kColumnClasses * kAgeClasses;
static_assert(kColumnClasses * kAgeClasses <= 256);  // column_classes_ has bytes

constexpr std::uint32_t kMeanWeight = 64;
constexpr std::uint32_t kWeightMax = 32 * kMeanWeight;

// As if a class had had so many indices, and as many as expected.
constexpr std::uint64_t kPrior = 1;

// Of many rows, a message counts one in so many: a sample is enough, and cheap.
constexpr std::size_t kSampledRows = 4;
constexpr std::size_t kManyRows = 64;

// By half octaves of an expected number of indices, in 1/256.
std::size_t row_class(std::uint64_t expected) {
  const auto width = static_cast<std::size_t>(std::bit_width(expected));
  if (width < 2) return 0;
  return std::min(kRowClasses - 1, 2 * width - 3 + (expected >> (width - 2) & 1));
}

// By octaves of the ratio to the mean, from 1/8 to 8.
std::size_t column_class(std::uint64_t eighths) {
  return std::min<std::size_t>(std::bit_width(eighths), kColumnClasses - 1);
}

}  // namespace

IndexHistory::IndexHistory(std::size_t rows, std::size_t columns, std::size_t kept)
    : kept_(kept),
      ages_(rows * columns, kAgeNever),
      row_activity_(rows),
      column_activity_(columns),
      counts_(kRowClasses),
      classes_(kClasses),
      row_classes_(rows),
      column_classes_(columns),
      weights_(kClasses) {
  GW_CHECK(kept > 0 && kept <= rows * columns);
  predict();
}

// --- Predictions ---

void IndexHistory::predict() {
  std::uint64_t sum = 0;
  for (const std::uint32_t activity : row_activity_) sum += activity;
  // A part of the mean, so that a row which was never sent is not thought impossible.
  constexpr std::uint64_t kMeanPart = 16;
  const std::uint64_t mean = std::uint64_t{kept_} * kOne / rows();
  for (std::size_t i = 0; i < rows(); ++i) {
    const std::uint64_t expected =
        sum == 0 ? mean : std::uint64_t{row_activity_[i]} * kept_ * kOne / sum + mean / kMeanPart;
    row_classes_[i] = static_cast<std::uint8_t>(row_class(expected));
  }
  for (std::size_t i = 0; i < columns(); ++i) {
    const std::uint64_t prior = kOne / 2;
    const std::uint64_t eighths =
        (column_activity_[i] + prior) * columns() * 8 / (sum + prior * columns());
    column_classes_[i] = static_cast<std::uint8_t>(column_class(eighths) * kAgeClasses);
  }
  const auto most =
      std::min<std::uint64_t>(kWeightMax, std::max<std::uint64_t>(1, 0xffffffffu / columns()));
  for (std::size_t i = 0; i < kClasses; ++i) {
    const ClassCount& count = classes_[i];
    weights_[i] = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        kMeanWeight * (count.sent + kPrior * kOne) / (count.expected + kPrior * kOne), 1, most));
  }
}

// The first class of the elements of a row, by how many times the mean of all rows its count is.
std::size_t IndexHistory::density_base(std::size_t count) const {
  const std::size_t ratio = count * rows() / kept_;
  const std::size_t density = ratio < 1 ? 0 : ratio < 3 ? 1 : 2;
  return density * kColumnClasses * kAgeClasses;
}

void IndexHistory::add_weights(std::size_t row, std::size_t count,
                               std::span<std::uint32_t> sums) const {
  const std::uint32_t* const weights = weights_.data() + density_base(count);
  const std::uint8_t* const ages = ages_.data() + row * columns();
  const std::uint8_t* const of_columns = column_classes_.data();
  std::uint32_t* const out = sums.data();
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < columns(); ++i) {
    out[i] = sum;
    sum += weights[of_columns[i] + kAgeClassOf[ages[i]]];
  }
  out[columns()] = sum;
}

// --- Learning ---

void IndexHistory::record(std::span<const std::uint32_t> indices) {
  learn_counts(indices);
  learn_weights(indices);
  for (std::uint32_t& activity : row_activity_) activity -= activity >> kFade;
  for (std::uint32_t& activity : column_activity_) activity -= activity >> kFade;
  for (std::uint8_t& age : ages_) age = static_cast<std::uint8_t>(age + (age < kAgeNever ? 1 : 0));
  for (const std::uint32_t index : indices) {
    row_activity_[index / columns()] += kOne;
    column_activity_[index % columns()] += kOne;
    ages_[index] = 1;
  }
  ++recorded_;
  predict();
}

void IndexHistory::learn_counts(std::span<const std::uint32_t> indices) {
  std::size_t at = 0;
  for (std::size_t row = 0; row + 1 < rows() && at < indices.size(); ++row) {
    std::uint32_t count = 0;
    while (at < indices.size() && indices[at] / columns() == row) ++at, ++count;
    counts_[row_classes_[row]].walk(count, [](bool bit, AdaptiveBit* model) {
      if (model != nullptr) model->learn(bit);
    });
  }
}

void IndexHistory::learn_weights(std::span<const std::uint32_t> indices) {
  for (ClassCount& count : classes_) {
    count.sent -= count.sent >> kFade;
    count.expected -= count.expected >> kFade;
  }
  const std::size_t every = rows() < kManyRows ? 1 : kSampledRows;
  std::size_t at = 0;
  while (at < indices.size()) {
    const std::size_t row = indices[at] / columns();
    std::size_t end = at;
    while (end < indices.size() && indices[end] / columns() == row) ++end;
    const std::size_t count = end - at;
    if (row % every == recorded_ % every) {
      const std::uint8_t* const ages = ages_.data() + row * columns();
      ClassCount* const counts = classes_.data() + density_base(count);
      std::array<std::uint32_t, kColumnClasses * kAgeClasses> elements{};
      for (std::size_t i = 0; i < columns(); ++i) {
        ++elements[column_classes_[i] + kAgeClassOf[ages[i]]];
      }
      for (std::size_t i = 0; i < elements.size(); ++i) {
        counts[i].expected += std::uint64_t{elements[i]} * count * kOne / columns();
      }
      for (; at < end; ++at) {
        const std::size_t column = indices[at] - row * columns();
        counts[column_classes_[column] + kAgeClassOf[ages[column]]].sent += kOne;
      }
    }
    at = end;
  }
}

// --- Saving ---

namespace {

constexpr std::size_t kCountModelBytes = 2 * CountModel::kWidths * sizeof(std::uint32_t);

}  // namespace

std::size_t IndexHistory::saved_bytes() const {
  return sizeof(recorded_) + ages_.size() + (rows() + columns()) * sizeof(std::uint32_t) +
         counts_.size() * kCountModelBytes + classes_.size() * sizeof(ClassCount);
}

std::size_t IndexHistory::memory_bytes() const {
  return saved_bytes() + rows() + columns() + weights_.size() * sizeof(weights_[0]);
}

void IndexHistory::save(std::vector<std::byte>& out) const {
  std::size_t at = out.size();
  out.resize(at + saved_bytes());
  const auto put = [&](auto number) {
    store_le(std::span(out), at, number);
    at += sizeof(number);
  };
  put(recorded_);
  for (const std::uint8_t age : ages_) put(age);
  for (const std::uint32_t activity : row_activity_) put(activity);
  for (const std::uint32_t activity : column_activity_) put(activity);
  for (CountModel model : counts_) {
    for (const AdaptiveBit& bit : model.widths()) put(bit.save());
    for (const AdaptiveBit& bit : model.seconds()) put(bit.save());
  }
  for (const ClassCount& count : classes_) {
    put(count.sent);
    put(count.expected);
  }
}

Decoded<void> IndexHistory::load(std::span<const std::byte> saved) {
  if (saved.size() != saved_bytes()) {
    return Unexpected{DecodeError{"a history of indices of another length", 0}};
  }
  IndexHistory loaded = *this;
  std::size_t at = 0;
  const auto get = [&](auto& number) {
    number = load_le<std::remove_reference_t<decltype(number)>>(saved, at);
    at += sizeof(number);
  };
  get(loaded.recorded_);
  for (std::uint8_t& age : loaded.ages_) {
    get(age);
    if (age == 0) return Unexpected{DecodeError{"a history has an age of 0", at - 1}};
  }
  // No count exceeds that of the messages that count, with all elements of each.
  const std::uint64_t most = (std::uint64_t{elements()} + 1) * kOne << (kFade + 1);
  for (auto* const activities : {&loaded.row_activity_, &loaded.column_activity_}) {
    for (std::uint32_t& activity : *activities) get(activity);
  }
  for (CountModel& model : loaded.counts_) {
    for (auto bits : {model.widths(), model.seconds()}) {
      for (AdaptiveBit& bit : bits) {
        std::uint32_t number = 0;
        get(number);
        bit.load(number);
      }
    }
  }
  for (ClassCount& count : loaded.classes_) {
    get(count.sent);
    get(count.expected);
    if (count.sent > most || count.expected > most) {
      return Unexpected{DecodeError{"a history counts too many indices", at - sizeof(ClassCount)}};
    }
  }
  loaded.predict();
  *this = std::move(loaded);
  return {};
}

}  // namespace gradwire
