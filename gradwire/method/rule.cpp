#include "gradwire/method/rule.h"

namespace gradwire {

std::size_t RuleWorkspace::add_memory(std::string name, Sharing sharing, MemoryUnit unit) {
  memories.emplace_back(std::move(name), sharing, tensors, unit);
  return memories.size() - 1;
}

std::size_t RuleWorkspace::add_owner_memory(std::string name) {
  memories.emplace_back(std::move(name), Sharing::owner, tensors, owned);
  return memories.size() - 1;
}

}  // namespace gradwire
