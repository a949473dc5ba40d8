#include "gradwire/kernel/target.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>

#include "gradwire/core/error.h"

namespace gradwire::kernel {
namespace {

std::string lower_case_name(std::int64_t target) {
  std::string name = hwy::TargetName(target);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return name;
}

}  // namespace

std::string target_in_use() { return lower_case_name(hwy::SupportedAndGeneratedTargets().front()); }

std::string target_list() {
  std::string list;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    list += (list.empty() ? "" : ", ") + lower_case_name(target);
  }
  return list;
}

HeldTarget::HeldTarget(std::string_view name) {
  if (name.empty()) return;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (lower_case_name(target) != name) continue;
    hwy::SetSupportedTargetsForTest(target);
    return;
  }
  throw Error("this machine has no target '" + std::string(name) + "'; it has " + target_list());
}

HeldTarget::~HeldTarget() { hwy::SetSupportedTargetsForTest(0); }

}  // namespace gradwire::kernel
