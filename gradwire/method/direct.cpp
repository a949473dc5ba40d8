#include "gradwire/method/rules.h"

namespace gradwire {

std::unique_ptr<Rule> make_direct_rule(RuleWorkspace& workspace) {
  return std::make_unique<Rule>(workspace);
}

}  // namespace gradwire
