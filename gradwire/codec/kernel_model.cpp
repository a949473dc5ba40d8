#include "gradwire/codec/kernel_model.h"

#include "gradwire/codec/age_classes.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// Weights to begin with, in 1/100: what training of resnet20 came to.
template <std::size_t kInputs>
std::array<std::int32_t, kInputs> percents(const std::array<int, kInputs>& numbers) {
  std::array<std::int32_t, kInputs> weights{};
  for (std::size_t i = 0; i < kInputs; ++i) weights[i] = numbers[i] * ((1 << 24) / 100);
  return weights;
}

}  // namespace

KernelModel::KernelModel()
    : row_(percents<3>({90, 120, 45})),
      kernel_(percents<8>({30, 0, 65, -200, 45, 55, 35, 55})),
      elements_(kPlaces + 1, ElementMixer(percents<8>({100, 0, 10, 5, -10, 30, 0, 0}))) {
  elements_.back() = ElementMixer(percents<8>({90, 60, 35, 30, 25, 50, 40, 25}));
}

std::uint32_t KernelModel::age_class(std::uint32_t least, std::uint32_t young) {
  constexpr std::uint32_t kMost = kYoungMax;
  return age_of(least) * (kMost + 1) + std::min(young, kMost);
}

std::uint32_t KernelModel::age_of(std::uint32_t age) {
  static_assert(kAges == kAgeClasses);
  return kAgeClassOf[age];
}

// By half octaves.
std::uint32_t KernelModel::activity_class(std::int32_t activity) {
  return static_cast<std::uint32_t>(std::clamp(activity / (kLogOne / 2) + 7, 0, 15));
}

// --- Inputs ---

KernelModel::RowMixer::Inputs KernelModel::inputs(const RowFacts& facts) {
  return {facts.expected, facts.activity, kLogOne};
}

KernelModel::KernelMixer::Inputs KernelModel::inputs(const KernelFacts& facts) const {
  return {of_ages_[facts.age_class].logit(),
          facts.activity,
          facts.column,
          kLogOne,
          facts.row,
          facts.row_now,
          facts.column_now,
          facts.left};
}

std::size_t KernelModel::by_age(const ElementFacts& facts) {
  return age_of(facts.age) * kActivities + activity_class(facts.activity);
}

std::size_t KernelModel::by_neighbours(const ElementFacts& facts) {
  const std::size_t neighbours = (facts.is_after ? 2u : 0u) + (facts.is_below ? 1u : 0u);
  const std::size_t found = std::min<std::size_t>(facts.found, kFoundMax);
  return (neighbours * (kFoundMax + 1) + found) * kPlaces +
         std::min<std::size_t>(facts.place, kPlaces - 1);
}

std::size_t KernelModel::mixer_of(const ElementFacts& facts) {
  return facts.found > 0 ? kPlaces : std::min<std::size_t>(facts.behind, kPlaces - 1);
}

KernelModel::ElementMixer::Inputs KernelModel::inputs(const ElementFacts& facts) const {
  return {of_elements_[by_age(facts)].logit(),
          of_neighbours_[by_neighbours(facts)].logit(),
          facts.row_now,
          facts.column_now,
          facts.activity,
          kLogOne,
          facts.is_after ? kLogOne : 0,
          facts.is_below ? kLogOne : 0};
}

// --- Predictions ---

std::int32_t KernelModel::row(const RowFacts& facts) const {
  return RowMixer::rounded(row_.sum(inputs(facts)));
}

std::int64_t KernelModel::known_part(const KernelFacts& facts) const {
  KernelMixer::Inputs known = inputs(facts);
  known[kRowNow] = known[kColumnNow] = known[kLeft] = 0;
  return kernel_.sum(known);
}

std::int32_t KernelModel::element(const ElementFacts& facts) const {
  return ElementMixer::rounded(elements_[mixer_of(facts)].sum(inputs(facts)));
}

// --- Learning ---

void KernelModel::learn_row(const RowFacts& facts, bool bit) { row_.learn(inputs(facts), bit); }

void KernelModel::learn_kernel(const KernelFacts& facts, bool bit) {
  kernel_.learn(inputs(facts), bit);
  of_ages_[facts.age_class].learn(bit);
}

void KernelModel::learn_element(const ElementFacts& facts, bool bit) {
  elements_[mixer_of(facts)].learn(inputs(facts), bit);
  of_elements_[by_age(facts)].learn(bit);
  of_neighbours_[by_neighbours(facts)].learn(bit);
}

// --- Saving ---

template <class Model, class TakeBits, class TakeWeight>
void KernelModel::for_each(Model& model, const TakeBits& bits, const TakeWeight& weight) {
  const auto weights_of = [&](auto& mixer) {
    for (std::size_t i = 0; i < mixer.weights().size(); ++i) weight(mixer, i);
  };
  weights_of(model.row_);
  weights_of(model.kernel_);
  for (auto& mixer : model.elements_) weights_of(mixer);
  for (auto& one : model.of_ages_) bits(one);
  for (auto& one : model.of_elements_) bits(one);
  for (auto& one : model.of_neighbours_) bits(one);
}

std::size_t KernelModel::saved_bytes() {
  std::size_t bytes = 0;
  const KernelModel model;
  for_each(
      model, [&](const SeenBits&) { bytes += sizeof(std::uint32_t) + sizeof(std::uint16_t); },
      [&](const auto&, std::size_t) { bytes += sizeof(std::int32_t); });
  return bytes;
}

void KernelModel::save(std::vector<std::byte>& out) const {
  std::size_t at = out.size();
  out.resize(at + saved_bytes());
  const auto put = [&](auto number) {
    store_le(std::span(out), at, number);
    at += sizeof(number);
  };
  for_each(
      *this,
      [&](const SeenBits& bits) {
        put(bits.one());
        put(bits.seen());
      },
      [&](const auto& mixer, std::size_t input) { put(mixer.weight(input)); });
}

void KernelModel::load(std::span<const std::byte> saved) {
  GW_CHECK(saved.size() == saved_bytes());
  std::size_t at = 0;
  for_each(
      *this,
      [&](SeenBits& bits) {
        bits.load(load_le<std::uint32_t>(saved, at),
                  load_le<std::uint16_t>(saved, at + sizeof(std::uint32_t)));
        at += sizeof(std::uint32_t) + sizeof(std::uint16_t);
      },
      [&](auto& mixer, std::size_t input) {
        mixer.load(input, load_le<std::int32_t>(saved, at));
        at += sizeof(std::int32_t);
      });
}

}  // namespace gradwire
