#include "gradwire/method/registry.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/method/exchange_method.h"
#include "gradwire/method/lgc/code_note.h"
#include "gradwire/method/lgc/lgc.h"
#include "gradwire/method/lgreco/lgreco.h"
#include "gradwire/method/lgreco/lgreco_reader.h"
#include "gradwire/method/lgreco/plan_note.h"
#include "gradwire/method/method.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/powersgd/powersgd.h"
#include "gradwire/method/rules.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

// Names that stand for a whole spec.
struct Preset {
  std::string_view name;
  std::string_view spec;
};
constexpr std::array kPresets = {
    Preset{"dqgd", "direct(qsgd(bits=2, norm=l2), down=none)"},
    Preset{"signsgd", "direct(sign(scale=off), down=sign(scale=off))"},
    Preset{"ef_signsgd", "ef(sign)"},
    Preset{"qsgd_2bit", "direct(qsgd(bits=2, norm=l2, bucket=128), down=none)"},
    Preset{"qsgd_4bit", "direct(qsgd(bits=4, norm=l2, bucket=512), down=none)"},
    Preset{"qsgd_8bit", "direct(qsgd(bits=8, norm=l2, bucket=512), down=none)"},
};

std::string_view expand(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return text;
  const std::string_view word = text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  for (const Preset& preset : kPresets) {
    if (word == preset.name) return preset.spec;
  }
  return text;
}

MethodPlan plan_exchange(MethodSetup setup) {
  return {.spec = setup.spec,
          .make = [setup](Communicator& communicator, std::vector<MethodTensor> tensors,
                          const MethodOptions& options) {
            return make_exchange_method(communicator, std::move(tensors), setup, options);
          }};
}

MethodPlan read_direct(MethodReader& reader) {
  MethodSetup setup;
  setup.codecs.up = reader.codec(nullptr);
  setup.codecs.down = reader.down();
  setup.make_rule = make_direct_rule;
  setup.spec = reader.finish();
  return plan_exchange(setup);
}

// ef and ef21 have the same arguments.
template <class MakeRule>
MethodPlan read_error_fed(MethodReader& reader, const MakeRule& make_rule) {
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  setup.codecs.up = reader.codec(nullptr);
  reader.refuse_if(why_not_with_error_memory(*setup.codecs.up), "codec");
  setup.codecs.down = reader.down();
  if (setup.codecs.down) reader.refuse_if(why_not_with_error_memory(*setup.codecs.down), "down");
  setup.make_rule = make_rule;
  setup.spec = reader.finish();
  return plan_exchange(setup);
}

MethodPlan read_ef(MethodReader& reader) { return read_error_fed(reader, make_ef_rule); }
MethodPlan read_ef21(MethodReader& reader) { return read_error_fed(reader, make_ef21_rule); }

MethodPlan read_diana(MethodReader& reader) {
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  setup.codecs.up = reader.codec(nullptr);
  reader.refuse_if(why_not_with_shifts(*setup.codecs.up), "codec");
  DianaOptions options;
  options.alpha = reader.arguments().number_or_auto("alpha", 1e-9, 1);
  if (options.alpha) reader.write("alpha=" + format_number(*options.alpha));
  options.momentum = reader.arguments().keyed_number("momentum", 0, 0, 0.999999);
  if (options.momentum > 0) reader.write("momentum=" + format_number(options.momentum));
  setup.codecs.down = reader.down();
  if (!setup.codecs.down) setup.codecs.down = make_codec("none");
  reader.refuse_if(why_not_with_error_memory(*setup.codecs.down), "down");
  setup.make_rule = [options](RuleWorkspace& workspace) {
    return make_diana_rule(workspace, options);
  };
  setup.spec = reader.finish();
  return plan_exchange(setup);
}

MethodPlan read_dgc(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  DgcOptions options;
  options.share = arguments.share("share");
  reader.write(format_share(options.share));
  options.momentum = arguments.keyed_number("momentum", 0.9, 0, 0.999999);
  if (options.momentum != 0.9) reader.write("momentum=" + format_number(options.momentum));
  options.clip = arguments.number_or_off("clip", 0, 0, std::numeric_limits<double>::infinity());
  if (options.clip == 0.0) options.clip = std::nullopt;
  if (options.clip) reader.write("clip=" + format_number(*options.clip));
  options.warmup_steps =
      static_cast<std::size_t>(arguments.integer("warmup", 0, 0, std::int64_t{1} << 40));
  if (options.warmup_steps > 0) reader.write("warmup=" + std::to_string(options.warmup_steps));
  if (const SpecArgument* const values = arguments.nested("values")) {
    options.values = reader.make_nested(*values)->spec();
    if (options.values != "none") reader.write("values=" + options.values);
  }
  options.down = reader.down();
  if (options.down) reader.refuse_if(why_not_with_error_memory(*options.down), "down");
  MethodSetup setup;
  setup.kind = RuleKind::ported;
  try {
    setup.codecs = {.up = make_codec(dgc_codec_spec(options, 0)), .down = options.down};
  } catch (const SpecError& error) {
    const std::string_view message = error.what();
    arguments.fail_argument("values", message.substr(0, message.find('\n')));
  }
  reader.refuse_if(why_not_with_error_memory(*setup.codecs.up), "values");
  setup.steady = {.up = make_codec(dgc_codec_spec(options, options.warmup_steps)),
                  .down = options.down};
  setup.make_rule = [options](RuleWorkspace& workspace) {
    return make_dgc_rule(workspace, options);
  };
  setup.spec = reader.finish();
  return plan_exchange(setup);
}

MethodPlan read_lazy(MethodReader& reader, bool has_error_memory) {
  StageReader& arguments = reader.arguments();
  MethodSetup setup;
  setup.kind = RuleKind::lazy;
  setup.codecs.up = reader.codec(has_error_memory ? nullptr : "none");
  setup.codecs.down = make_codec("none");
  reader.refuse_if(has_error_memory ? why_not_with_error_memory(*setup.codecs.up)
                                    : why_not_without_memory(*setup.codecs.up),
                   "codec");
  constexpr std::int64_t kStepsMax = 1'000'000;
  LazyOptions options{.has_error_memory = has_error_memory};
  const auto steps = [&](const char* key) {
    const std::int64_t given = arguments.integer(key, 10, 1, kStepsMax);
    if (given != 10) reader.write(std::string(key) + '=' + std::to_string(given));
    return static_cast<std::size_t>(given);
  };
  options.window = steps("window");
  options.delay = steps("delay");
  options.weight = arguments.number_or_auto("weight", 0, std::numeric_limits<double>::infinity());
  if (options.weight) reader.write("weight=" + format_number(*options.weight));
  options.is_server_rule = arguments.word("rule", {"worker", "server"}) == "server";
  if (options.is_server_rule) reader.write("rule=server");
  options.smoothness =
      arguments.number_or_auto("smoothness", 0, std::numeric_limits<double>::infinity());
  if (options.smoothness) {
    if (!options.is_server_rule) {
      arguments.fail_argument("smoothness", "'smoothness' is for rule=server");
    }
    reader.write("smoothness=" + format_number(*options.smoothness));
  }
  if (arguments.nested("down") != nullptr) {
    arguments.fail_argument("down", "old uploads go into every mean, so what goes down is exact");
  }
  setup.make_rule = [options](RuleWorkspace& workspace) {
    return make_lazy_rule(workspace, options);
  };
  setup.spec = reader.finish();
  return plan_exchange(setup);
}

MethodPlan read_lasg(MethodReader& reader) { return read_lazy(reader, false); }
MethodPlan read_sasg(MethodReader& reader) { return read_lazy(reader, true); }

MethodPlan read_powersgd(MethodReader& reader) {
  PowerSgdOptions options;
  options.rank = static_cast<std::size_t>(reader.arguments().integer("rank", 4, 1, 1024));
  reader.write("rank=" + std::to_string(options.rank));
  return {.spec = reader.finish(),
          .make = [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& method) {
            return make_powersgd(communicator, std::move(tensors), options, method);
          }};
}

MethodPlan read_lgreco(MethodReader& reader) {
  const LgrecoOptions options = read_lgreco_options(reader);
  return {.spec = options.spec,
          .make =
              [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                        const MethodOptions& method) {
                return make_lgreco(communicator, std::move(tensors), options, method);
              },
          .note = &plan_note_kind()};
}

MethodPlan read_lgc(MethodReader& reader) {
  const LgcOptions options = read_lgc_options(reader);
  return {.spec = options.spec,
          .make = [options](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& method) {
            return make_lgc(communicator, std::move(tensors), options, method);
          },
          .note = &code_note_kind()};
}

struct Entry {
  std::string_view name;
  ReadMethod read;
};
constexpr std::array kEntries = {
    Entry{"direct", read_direct}, Entry{"ef", read_ef},     Entry{"ef21", read_ef21},
    Entry{"diana", read_diana},   Entry{"dgc", read_dgc},   Entry{"powersgd", read_powersgd},
    Entry{"lasg", read_lasg},     Entry{"sasg", read_sasg}, Entry{"lgreco", read_lgreco},
    Entry{"lgc", read_lgc},
};

// Those of other rooms.
std::vector<Entry>& more_entries() {
  static std::vector<Entry> entries;
  return entries;
}
std::vector<MethodExample>& more_examples() {
  static std::vector<MethodExample> examples;
  return examples;
}

std::vector<Entry> all_entries() {
  std::vector<Entry> all(kEntries.begin(), kEntries.end());
  all.insert(all.end(), more_entries().begin(), more_entries().end());
  return all;
}

ReadMethod find_reader(std::string_view name) {
  const std::vector<Entry> entries = all_entries();
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : found->read;
}

// A codec's error about a name that is none, completed by what a method could have been meant.
[[noreturn]] void fail_unknown(std::string_view text, const SpecStage& stage,
                               const SpecError& error) {
  std::vector<std::string> names;
  for (const Entry& entry : all_entries()) names.emplace_back(entry.name);
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  if (const auto nearest = nearest_name(stage.name, names)) {
    fail_at(text, error.position(),
            "there is no method or codec called '" + stage.name + "'; did you mean '" + *nearest +
                "'?");
  }
  const std::string_view message = error.what();
  std::string what = std::string(message.substr(0, message.find('\n'))) + ", and the methods";
  for (const std::string& name : names) what += ' ' + name;
  fail_at(text, error.position(), what);
}

MethodPlan read_codec_alone(std::string_view text) {
  MethodSetup setup;
  try {
    setup.codecs.up = make_codec(text);
  } catch (const SpecError& error) {
    const SpecStage stage = parse_spec(text).stages.front();
    const std::string_view message = error.what();
    const bool is_unknown = message.starts_with("there is no codec called") &&
                            message.find("did you mean") == std::string_view::npos &&
                            error.position() == stage.position;
    if (is_unknown) fail_unknown(text, stage, error);
    throw;
  }
  setup.make_rule = make_direct_rule;
  setup.spec = setup.codecs.up->spec();
  return plan_exchange(setup);
}

MethodPlan read(std::string_view given) {
  const std::string_view text = expand(given);
  const Spec spec = parse_spec(text);
  for (const SpecStage& stage : spec.stages) {
    const ReadMethod read_method = find_reader(stage.name);
    if (read_method == nullptr) continue;
    if (spec.stages.size() > 1) {
      fail_at(text, stage.position,
              "'" + stage.name + "' goes around a whole pipe, as in '" + stage.name +
                  "(topk(1%) | natural)'");
    }
    MethodReader reader(text, stage);
    return read_method(reader);
  }
  return read_codec_alone(text);
}

}  // namespace

void register_method(const char* name, ReadMethod read_method,
                     std::vector<MethodExample> examples) {
  if (find_reader(name) != nullptr) return;
  more_entries().push_back({name, read_method});
  std::ranges::move(examples, std::back_inserter(more_examples()));
}

const std::vector<MethodExample>& registered_examples() { return more_examples(); }

std::unique_ptr<Method> make_method(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    std::string_view spec, const MethodOptions& options) {
  return read(spec).make(communicator, std::move(tensors), options);
}

std::string check_method(std::string_view spec) { return read(spec).spec; }

const NoteKind* note_kind_of(std::string_view spec) { return read(spec).note; }

std::vector<const NoteKind*> note_kinds() {
  std::vector<const NoteKind*> kinds;
  for (const MethodExample& example : example_methods()) {
    const NoteKind* const kind = note_kind_of(example.spec);
    if (kind == nullptr || std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace gradwire
