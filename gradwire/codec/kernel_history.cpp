#include "gradwire/codec/kernel_history.h"

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

// Of a part's activity against the mean, plus a share of the mean: a part that was never sent is
// not impossible.
std::int32_t against_mean(std::uint64_t activity, std::uint64_t parts, std::uint64_t sum,
                          std::uint64_t share) {
  if (sum == 0) return 0;
  return log_of(share * activity * parts + sum) - log_of(share * sum);
}

// The answers of a message, and the model that learns from them.
class Learner {
 public:
  Learner(const KernelHistory& history, std::span<const std::uint32_t> indices, KernelModel& model)
      : history_(history), indices_(indices), model_(model) {}

  bool row(const RowFacts& facts, std::size_t first) {
    const auto& shape = history_.shape();
    return learned(is_before(first + shape.columns * shape.elements),
                   [&](bool bit) { model_.learn_row(facts, bit); });
  }
  bool kernel(std::size_t kernel, KernelFacts& facts, std::size_t first) {
    return learned(is_before(first + history_.shape().elements), [&](bool bit) {
      history_.add_known_facts(kernel, facts);
      model_.learn_kernel(facts, bit);
    });
  }
  bool element(const ElementFacts& facts, std::size_t element) {
    return learned(is_before(element + 1), [&](bool bit) { model_.learn_element(facts, bit); });
  }
  void found(std::size_t /*element*/) { ++at_; }

 private:
  bool is_before(std::size_t end) const { return at_ < indices_.size() && indices_[at_] < end; }
  template <class Learn>
  static bool learned(bool bit, const Learn& learn) {
    learn(bit);
    return bit;
  }

  const KernelHistory& history_;
  std::span<const std::uint32_t> indices_;
  KernelModel& model_;
  std::size_t at_ = 0;
};

}  // namespace

KernelHistory::KernelHistory(const KernelShape& shape, std::size_t kept, const KernelModel& model)
    : shape_(shape),
      kept_(kept),
      ages_(shape.all(), kAgeNever),
      kernel_activity_(shape.rows * shape.columns),
      row_activity_(shape.rows),
      column_activity_(shape.columns),
      row_logs_(shape.rows),
      column_logs_(shape.columns),
      kernel_logs_(kernel_activity_.size()),
      known_parts_(kernel_activity_.size()) {
  GW_CHECK(kept > 0 && kept <= shape.all());
  GW_CHECK(shape.elements > 1 && shape.elements <= kElementsMax && shape.width > 0);
  for (std::size_t i = 0; i < shape.columns; ++i) {
    expected_in_rows_.push_back(-against_expected(0, i * shape.elements));
  }
  for (std::size_t i = 0; i < shape.rows; ++i) {
    expected_in_columns_.push_back(-against_expected(0, i * shape.elements));
  }
  predict(model);
}

std::int32_t KernelHistory::against_expected(std::uint64_t indices, std::size_t elements) const {
  const std::uint64_t expected = std::uint64_t{elements} * kept_ * kOne / shape_.all();
  return log_of((indices + 1) * kOne) - log_of(expected + kOne);
}

void KernelHistory::predict(const KernelModel& model) {
  std::uint64_t sum = 0;
  for (const std::uint32_t activity : row_activity_) sum += activity;
  constexpr std::uint64_t kShare = 20;
  for (std::size_t i = 0; i < shape_.rows; ++i) {
    row_logs_[i] = against_mean(row_activity_[i], shape_.rows, sum, kShare);
  }
  for (std::size_t i = 0; i < shape_.columns; ++i) {
    column_logs_[i] = against_mean(column_activity_[i], shape_.columns, sum, kShare);
  }
  constexpr std::uint64_t kShareOfKernels = 10;
  for (std::size_t i = 0; i < kernel_logs_.size(); ++i) {
    kernel_logs_[i] = against_mean(kernel_activity_[i], kernel_logs_.size(), sum, kShareOfKernels);
    KernelFacts facts;
    add_known_facts(i, facts);
    known_parts_[i] = model.known_part(facts);
  }
}

void KernelHistory::add_known_facts(std::size_t kernel, KernelFacts& facts) const {
  std::uint32_t least = kAgeNever;
  std::uint32_t young = 0;
  for (const std::uint8_t age :
       std::span(ages_).subspan(kernel * shape_.elements, shape_.elements)) {
    least = std::min<std::uint32_t>(least, age);
    young += age <= KernelModel::kYoung ? 1 : 0;
  }
  facts.age_class = KernelModel::age_class(least, young);
  facts.activity = kernel_logs_[kernel];
  facts.column = column_logs_[kernel % shape_.columns];
  facts.row = row_logs_[kernel / shape_.columns];
}

// --- Learning ---

void KernelHistory::learn(std::span<const std::uint32_t> indices, KernelModel& model) const {
  std::vector<std::uint32_t> column_counts;
  Learner learner(*this, indices, model);
  walk(learner, column_counts);
}

void KernelHistory::record(std::span<const std::uint32_t> indices, const KernelModel& model) {
  for (auto* const activities : {&kernel_activity_, &row_activity_, &column_activity_}) {
    for (std::uint32_t& activity : *activities) activity -= activity >> kFade;
  }
  for (std::uint8_t& age : ages_) age = static_cast<std::uint8_t>(age + (age < kAgeNever ? 1 : 0));
  for (const std::uint32_t index : indices) {
    const std::size_t kernel = index / shape_.elements;
    kernel_activity_[kernel] += kOne;
    row_activity_[kernel / shape_.columns] += kOne;
    column_activity_[kernel % shape_.columns] += kOne;
    ages_[index] = 1;
  }
  predict(model);
}

// --- Saving ---

std::size_t KernelHistory::saved_bytes() const {
  return ages_.size() + (kernel_activity_.size() + row_activity_.size() + column_activity_.size()) *
                            sizeof(std::uint32_t);
}

std::size_t KernelHistory::memory_bytes() const {
  return saved_bytes() + known_parts_.size() * (sizeof(std::int64_t) + sizeof(std::int32_t)) +
         (shape_.rows + shape_.columns) * 2 * sizeof(std::int32_t);
}

void KernelHistory::save(std::vector<std::byte>& out) const {
  std::size_t at = out.size();
  out.resize(at + saved_bytes());
  const auto put = [&](auto number) {
    store_le(std::span(out), at, number);
    at += sizeof(number);
  };
  for (const std::uint8_t age : ages_) put(age);
  for (const auto* const activities : {&kernel_activity_, &row_activity_, &column_activity_}) {
    for (const std::uint32_t activity : *activities) put(activity);
  }
}

Decoded<void> KernelHistory::load(std::span<const std::byte> saved, const KernelModel& model) {
  if (saved.size() != saved_bytes()) {
    return Unexpected{DecodeError{"a history of indices of another length", 0}};
  }
  KernelHistory loaded = *this;
  std::size_t at = 0;
  const auto get = [&](auto& number) {
    number = load_le<std::remove_reference_t<decltype(number)>>(saved, at);
    at += sizeof(number);
  };
  for (std::uint8_t& age : loaded.ages_) {
    get(age);
    if (age == 0) return Unexpected{DecodeError{"a history has an age of 0", at - 1}};
  }
  for (auto* const activities :
       {&loaded.kernel_activity_, &loaded.row_activity_, &loaded.column_activity_}) {
    for (std::uint32_t& activity : *activities) get(activity);
  }
  loaded.predict(model);
  *this = std::move(loaded);
  return {};
}

}  // namespace gradwire
