#include "gradwire/method/rule.h"

#include <algorithm>

namespace gradwire {

std::size_t RuleWorkspace::add_memory(std::string name, Sharing sharing, MemoryUnit unit) {
  memories.emplace_back(std::move(name), sharing, tensors, unit);
  return memories.size() - 1;
}

std::size_t RuleWorkspace::add_owner_memory(std::string name) {
  memories.emplace_back(std::move(name), Sharing::owner, tensors, owned);
  return memories.size() - 1;
}

void Rule::restart_shift(std::size_t shift, std::size_t mean) {
  for (std::size_t i = 0; i < workspace_.tensors.size(); ++i) {
    const TensorPiece whole{.tensor = i, .first = 0, .elements = workspace_.tensors[i].elements()};
    std::ranges::copy(memory(mean, whole), memory(shift, whole).begin());
  }
}

}  // namespace gradwire
