// Rules that other methods are built of.
#pragma once

#include <memory>
#include <vector>

#include "gradwire/method/rule.h"

namespace gradwire {

// direct: every worker sends its gradient as it is. a = mean C(g_i).
std::unique_ptr<Rule> make_direct_rule(RuleWorkspace& workspace);

// The same through a port, so that results are written after the last frame.
std::unique_ptr<Rule> make_ported_direct_rule(RuleWorkspace& workspace);

// ef with a codec for each tensor. What those send that keep no error is right on average; an error
// that is loaded for them goes out in full with the next gradient.
std::unique_ptr<Rule> make_ef_each_rule(RuleWorkspace& workspace, std::vector<bool> keeps_error);

}  // namespace gradwire
