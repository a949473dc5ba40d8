// The rules that make_method knows, each from its options. All throw what their codecs do not
// allow when the spec is read, see registry.cpp.
#pragma once

#include <memory>
#include <optional>

#include "gradwire/method/rule.h"

namespace gradwire {

// direct: every worker sends its gradient as it is. a = mean C(g_i).
std::unique_ptr<Rule> make_direct_rule(RuleWorkspace& workspace);

// ef: what was not sent is remembered and added to the next gradient.
std::unique_ptr<Rule> make_ef_rule(RuleWorkspace& workspace);

// ef with a codec for each tensor. What those send that keep no error is right on average; an error
// that is loaded for them goes out in full with the next gradient.
std::unique_ptr<Rule> make_ef_each_rule(RuleWorkspace& workspace, std::vector<bool> keeps_error);

// ef21: workers send what their gradient has moved away from a shift that follows it.
std::unique_ptr<Rule> make_ef21_rule(RuleWorkspace& workspace);

struct DianaOptions {
  std::optional<double> alpha = {};  // null: 1 / (2 (1 + omega)), cut to a few bits
  double momentum = 0;
};
// diana: the same with codecs that are right on average, which makes the mean so, too.
std::unique_ptr<Rule> make_diana_rule(RuleWorkspace& workspace, const DianaOptions& options);

struct DgcOptions {
  double share = 0.001;
  double momentum = 0.9;
  std::optional<double> clip = {};  // of the norm of the whole gradient, for one worker
  std::size_t warmup_steps = 0;
  std::string values = "none";             // how kept values are written
  std::shared_ptr<const Codec> down = {};  // null: as the uplink
};
// dgc: momentum before sparsification, and both cleared where something was sent.
std::unique_ptr<Rule> make_dgc_rule(RuleWorkspace& workspace, const DgcOptions& options);
// What the uplink is in a step: the share shrinks to its final value over the warm-up.
std::string dgc_codec_spec(const DgcOptions& options, std::uint64_t step);

struct LazyOptions {
  bool has_error_memory = false;          // sasg; otherwise lasg
  std::size_t window = 10;                // steps of the model's movement that are looked at
  std::size_t delay = 10;                 // steps after which a worker uploads in any case
  std::optional<double> weight = {};      // of each of these steps; null: workers / learning rate
  bool is_server_rule = false;            // from the movement alone, without a second gradient
  std::optional<double> smoothness = {};  // for that; null: estimated from the uploads
};
// lasg and sasg: a worker whose gradient has hardly changed lets its last upload be used again.
std::unique_ptr<Rule> make_lazy_rule(RuleWorkspace& workspace, const LazyOptions& options);

}  // namespace gradwire
