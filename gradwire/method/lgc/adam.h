// Adam with steps that become shorter, by the root of their number. The same bits on every machine.
// A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire {

class Adam {
 public:
  Adam(std::size_t weights, double learning_rate);

  // One step against the gradients.
  void move(std::span<float> weights, std::span<const float> gradients);

  // Appends its memory, so many numbers; takes as many from the front.
  std::size_t numbers() const { return 2 * means_.size() + 1; }
  void save(std::vector<float>& saved) const;
  void load(std::span<const float>& saved);

 private:
  double learning_rate_;
  std::vector<float> means_;    // of gradients
  std::vector<float> squares_;  // of their squares
  std::uint64_t moves_ = 0;
};

}  // namespace gradwire
