#include "gradwire/method/rules.h"

namespace gradwire {

std::unique_ptr<Rule> make_direct_rule(Workplace& place) { return std::make_unique<Rule>(place); }

}  // namespace gradwire
