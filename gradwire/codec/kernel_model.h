// KernelModel: how likely the indices of a convolution's message are, learned from the messages
// before: for a row of kernels, for a kernel, for an element of a kernel. One model for all layers,
// which are much alike. KernelHistory has the facts that it is asked with. Integers only. A value
// type, for one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwire/codec/logistic_mixer.h"
#include "gradwire/core/expected.h"

namespace gradwire {

// Does the row have an index? Logarithms; see KernelHistory.
struct RowFacts {
  std::int32_t expected = 0;  // indices, if rows were alike
  std::int32_t activity = 0;  // of the row, against the mean

  bool operator==(const RowFacts&) const = default;
};

// Does the kernel have an index? The first two facts are known before the message.
struct KernelFacts {
  std::uint32_t age_class = 0;  // see KernelModel::age_class
  std::int32_t activity = 0;    // of the kernel, against the mean
  std::int32_t column = 0;      // activity of the kernel's column, against the mean
  std::int32_t row = 0;         // activity of its row, against the mean
  std::int32_t row_now = 0;     // indices in the row so far, against the expected number
  std::int32_t column_now = 0;  // the same of the column
  std::int32_t left = 0;        // indices that are left, against the expected number
};

// Does the element have an index? Its kernel has one.
struct ElementFacts {
  std::uint32_t age = 0;
  std::int32_t activity = 0;
  std::int32_t row_now = 0;
  std::int32_t column_now = 0;
  std::uint32_t place = 0;   // in the kernel
  std::uint32_t behind = 0;  // elements of the kernel behind it
  std::uint32_t found = 0;   // indices of the kernel before it
  bool is_after = false;     // the element before it in its line has an index
  bool is_below = false;     // the element before it in its column has one
};

class KernelModel {
 public:
  KernelModel();

  // Of a kernel by the ages of its elements: the least, and how many are at most kYoung.
  static constexpr std::uint32_t kYoung = 4;
  static std::uint32_t age_class(std::uint32_t least, std::uint32_t young);

  // Logarithms of the odds.
  std::int32_t row(const RowFacts& facts) const;
  std::int32_t element(const ElementFacts& facts) const;
  // Of a kernel in two parts: that of the facts that are known before the message is in 1/2^24.
  std::int64_t known_part(const KernelFacts& facts) const;
  std::int32_t kernel(std::int64_t known_part, const KernelFacts& facts) const {
    return KernelMixer::rounded(known_part + std::int64_t{kernel_.weight(kRowNow)} * facts.row_now +
                                std::int64_t{kernel_.weight(kColumnNow)} * facts.column_now +
                                std::int64_t{kernel_.weight(kLeft)} * facts.left);
  }

  void learn_row(const RowFacts& facts, bool bit);
  void learn_kernel(const KernelFacts& facts, bool bit);
  void learn_element(const ElementFacts& facts, bool bit);

  static std::size_t saved_bytes();
  void save(std::vector<std::byte>& out) const;
  // As many bytes as save() gives; any of them are a model.
  void load(std::span<const std::byte> saved);

 private:
  using RowMixer = Mixer<3>;
  using KernelMixer = Mixer<8>;
  using ElementMixer = Mixer<8>;
  static constexpr std::size_t kRowNow = 5, kColumnNow = 6, kLeft = 7;  // inputs of kernels
  static constexpr std::size_t kAges = 17, kYoungMax = 4, kActivities = 16, kFoundMax = 3;
  static constexpr std::size_t kPlaces = 16;

  static std::uint32_t age_of(std::uint32_t age);
  static std::uint32_t activity_class(std::int32_t activity);
  static RowMixer::Inputs inputs(const RowFacts& facts);
  KernelMixer::Inputs inputs(const KernelFacts& facts) const;
  static std::size_t by_age(const ElementFacts& facts);
  static std::size_t by_neighbours(const ElementFacts& facts);
  static std::size_t mixer_of(const ElementFacts& facts);
  ElementMixer::Inputs inputs(const ElementFacts& facts) const;

  template <class Model, class TakeBits, class TakeWeight>
  static void for_each(Model& model, const TakeBits& bits, const TakeWeight& weight);

  RowMixer row_;
  KernelMixer kernel_;
  std::vector<ElementMixer> elements_;  // by place while nothing was found, and one for behind it
  std::array<SeenBits, kAges*(kYoungMax + 1)> of_ages_;
  std::array<SeenBits, kAges * kActivities> of_elements_;
  std::array<SeenBits, 4 * (kFoundMax + 1) * kPlaces> of_neighbours_;
};

}  // namespace gradwire
