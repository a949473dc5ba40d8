#include "gradwire/method/memory.h"

#include <algorithm>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kLine = 64 / sizeof(float);

std::vector<TensorPiece> everything(std::span<const MethodTensor> tensors) {
  std::vector<TensorPiece> ranges;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ranges.push_back({.tensor = i, .first = 0, .elements = tensors[i].elements()});
  }
  return ranges;
}

}  // namespace

Memory::Memory(std::string name, Sharing sharing, std::span<const MethodTensor> tensors,
               MemoryUnit unit)
    : Memory(std::move(name), sharing, tensors, everything(tensors)) {
  unit_ = unit;
}

Memory::Memory(std::string name, Sharing sharing, std::span<const MethodTensor> tensors,
               std::vector<TensorPiece> ranges)
    : name_(std::move(name)),
      sharing_(sharing),
      unit_(MemoryUnit::gradient),
      range_of_(tensors.size(), ranges.size()) {
  for (const MethodTensor& tensor : tensors) tensor_names_.push_back(tensor.name);
  std::size_t elements = 0;
  for (const TensorPiece& piece : ranges) {
    GW_CHECK(range_of_[piece.tensor] == ranges.size());
    range_of_[piece.tensor] = ranges_.size();
    ranges_.push_back({piece, elements});
    elements += (piece.elements + kLine - 1) / kLine * kLine;
  }
  if (elements == 0) return;
  memory_.resize(elements + kLine - 1);
  const std::size_t misaligned =
      reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(float) % kLine;
  values_ = std::span(memory_).subspan((kLine - misaligned) % kLine, elements);
}

std::span<float> Memory::at(const TensorPiece& piece) {
  const auto& [range, at] = ranges_.at(range_of_[piece.tensor]);
  GW_CHECK(range.first <= piece.first &&
           piece.first + piece.elements <= range.first + range.elements);
  return values_.subspan(at + piece.first - range.first, piece.elements);
}

std::span<const float> Memory::whole(std::size_t tensor) const {
  const auto& [range, at] = ranges_.at(range_of_[tensor]);
  return values_.subspan(at, range.elements);
}

void Memory::rescale(float factor) {
  if (unit_ != MemoryUnit::gradient) return;
  for (float& value : values_) value *= factor;
}

void Memory::save(MethodState& state) const {
  for (const auto& [range, at] : ranges_) {
    const auto values = values_.subspan(at, range.elements);
    state.arrays.push_back({.memory = name_,
                            .tensor = tensor_names_[range.tensor],
                            .sharing = sharing_,
                            .first = range.first,
                            .values = {values.begin(), values.end()}});
  }
}

// A range may have been saved in several, by other owners.
template <class Take>
std::size_t Memory::find(const MethodState& state, const Range& wanted, const Take& take) const {
  const auto& [range, at] = wanted;
  std::size_t found = 0;
  for (const StateArray& array : state.arrays) {
    if (array.memory != name_ || array.tensor != tensor_names_[range.tensor]) continue;
    const std::size_t first = std::max(range.first, array.first);
    const std::size_t end =
        std::min(range.first + range.elements, array.first + array.values.size());
    if (first >= end) continue;
    take(std::span(array.values).subspan(first - array.first, end - first),
         at + first - range.first);
    found += end - first;
  }
  return found;
}

void Memory::check(const MethodState& state) const {
  for (const Range& range : ranges_) {
    const std::size_t found = find(state, range, [](std::span<const float>, std::size_t) {});
    if (found == range.piece.elements) continue;
    throw Error("the saved state has " + std::to_string(found) + " of " +
                std::to_string(range.piece.elements) + " elements of '" + name_ + "' for tensor '" +
                tensor_names_[range.piece.tensor] + "', from element " +
                std::to_string(range.piece.first));
  }
}

void Memory::load(const MethodState& state) {
  for (const Range& range : ranges_) {
    find(state, range, [&](std::span<const float> values, std::size_t at) {
      std::ranges::copy(values, values_.subspan(at).begin());
    });
  }
}

}  // namespace gradwire
