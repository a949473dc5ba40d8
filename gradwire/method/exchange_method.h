// The method around a rule: tensors in groups, an exchange for each group, memories kept, saved and
// loaded.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/repeatable_method.h"
#include "gradwire/method/rule.h"

namespace gradwire {

// How much of the machinery a rule needs.
enum class RuleKind {
  plain,   // sends gradients and takes the mean as it is
  ported,  // prepares what is sent, and commits what came
  lazy,    // the same, all tensors at once, and may let its last message be used again
};

struct MethodSetup {
  std::string spec;
  Codecs codecs;
  Codecs steady = {};  // those that a topology is chosen for, if the first are soon changed
  RuleKind kind = RuleKind::plain;
  MethodTraits traits = {};
  SafeStep safe_step = {};                       // null: usual_step
  std::string why_not_repeatable = {};           // see ParsedMethod; empty: it is
  std::optional<std::string> why_not_late = {};  // see ParsedMethod; not set: the reason there
  std::function<std::unique_ptr<Rule>(RuleWorkspace&)> make_rule;
};

// The description of the method that the setup is for. The setup has codecs for all tensors.
ParsedMethod describe_method(MethodSetup setup);

// Throws what make_exchange throws.
std::unique_ptr<Method> make_exchange_method(Communicator& communicator,
                                             std::vector<MethodTensor> tensors, MethodSetup setup,
                                             const MethodOptions& options);

// The same with a gate: all tensors are one exchange.
std::unique_ptr<RepeatableMethod> make_repeatable_method(Communicator& communicator,
                                                         std::vector<MethodTensor> tensors,
                                                         MethodSetup setup,
                                                         const MethodOptions& options,
                                                         CommitGate& gate);

}  // namespace gradwire
