// Memory: one vector of a method's state, over all elements of its tensors or over those that this
// rank owns. Zero at first. It knows how it is saved and what becomes of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/method/method.h"
#include "gradwire/method/state.h"

namespace gradwire {

// What a memory is measured in: gradients are rescaled when a loss scale changes.
enum class MemoryUnit { gradient, parameter };

class Memory {
 public:
  Memory(std::string name, Sharing sharing, std::span<const MethodTensor> tensors,
         MemoryUnit unit = MemoryUnit::gradient);
  // Of ranges, at most one of each tensor.
  Memory(std::string name, Sharing sharing, std::span<const MethodTensor> tensors,
         std::vector<TensorPiece> ranges);

  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;

  // The piece must be within the ranges.
  std::span<float> at(const TensorPiece& piece);
  std::span<const float> whole(std::size_t tensor) const;

  std::size_t bytes() const { return memory_.size() * sizeof(float); }
  Sharing sharing() const { return sharing_; }
  void rescale(float factor);

  void save(MethodState& state) const;
  // Throws Error if the state has not all of it; load() takes it for granted.
  void check(const MethodState& state) const;
  void load(const MethodState& state);

 private:
  // Calls take(array's elements, where they go) for all arrays that hold some of a range. Returns
  // how many elements that were.
  struct Range;
  template <class Take>
  std::size_t find(const MethodState& state, const Range& range, const Take& take) const;

  struct Range {
    TensorPiece piece;
    std::size_t at = 0;  // in values_
  };

  std::string name_;
  Sharing sharing_;
  MemoryUnit unit_;
  std::vector<std::string> tensor_names_;
  std::vector<Range> ranges_;
  std::vector<std::size_t> range_of_;  // by tensor; ranges_.size() if there is none
  std::vector<float> memory_;          // with room to align
  std::span<float> values_;            // ranges start at cache lines
};

}  // namespace gradwire
