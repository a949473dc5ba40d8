#include "gradwire/method/registry.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/method/direct.h"
#include "gradwire/method/levels/host_method.h"
#include "gradwire/method/methods.h"
#include "gradwire/method/presets.h"

namespace gradwire {
namespace {

// Entries that others have added may grow while specs are read, so readers get copies.
class Registry {
 public:
  void add(MethodEntry entry) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(entries_, entry.name, &MethodEntry::name) != entries_.end()) return;
    entries_.push_back(std::move(entry));
  }
  std::vector<MethodEntry> entries() {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::vector<MethodEntry> entries_ = {
#define GRADWIRE_METHOD(name) name##_method(),
#include "gradwire/method/methods.inc"
#undef GRADWIRE_METHOD
  };
};

Registry& registry() {
  static Registry all;
  return all;
}

std::string_view expand(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return text;
  const std::string_view word = text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  const auto presets = method_presets();
  const auto found = std::ranges::find(presets, word, &MethodPreset::name);
  return found == presets.end() ? text : found->spec;
}

[[noreturn]] void fail_unknown(std::string_view text, const SpecStage& stage,
                               const std::vector<MethodEntry>& entries) {
  std::vector<std::string> names;
  for (const MethodEntry& entry : entries) names.emplace_back(entry.name);
  for (const MethodPreset& preset : method_presets()) names.emplace_back(preset.name);
  if (const auto nearest = nearest_name(stage.name, names)) {
    fail_at(text, stage.position,
            "there is no method or codec called '" + stage.name + "'; did you mean '" + *nearest +
                "'?");
  }
  std::string what = "there is no codec called '" + stage.name + "'; codecs are";
  const char* between = " ";
  for (const std::string& name : codec_stage_names()) {
    what += std::exchange(between, ", ") + name;
  }
  what += "; methods are";
  between = " ";
  for (const std::string& name : names) what += std::exchange(between, ", ") + name;
  fail_at(text, stage.position, what);
}

HostParts usual_host_parts(const ParsedMethod& method) {
  if (method.traits.needs_whole_gradient) return HostParts::one_rank;
  return method.factor_rank ? HostParts::tensors : HostParts::rows;
}

// The same method, with two levels where the communicator has several ranks on a host.
ParsedMethod with_levels(ParsedMethod method) {
  if (!method.host_parts) method.host_parts = usual_host_parts(method);
  if (method.host_parts == HostParts::inside) return method;
  const ParsedMethod one_level = method;
  method.make = [one_level](Communicator& communicator, std::vector<MethodTensor> tensors,
                            const MethodOptions& options) {
    HostGroups* const groups = communicator.hosts();
    return groups == nullptr ? one_level.make(communicator, std::move(tensors), options)
                             : make_host_method(*groups, std::move(tensors), one_level, options);
  };
  return method;
}

}  // namespace

ParsedMethod parse_method(std::string_view given) {
  const std::string_view text = expand(given);
  const Spec spec = parse_spec(text);
  const std::vector<MethodEntry> entries = registry().entries();
  for (const SpecStage& stage : spec.stages) {
    const auto entry = std::ranges::find(entries, stage.name, &MethodEntry::name);
    if (entry == entries.end()) continue;
    if (spec.stages.size() > 1) {
      fail_at(text, stage.position,
              "'" + stage.name + "' goes around a whole pipe, as in '" + stage.name +
                  "(topk(1%) | natural)'");
    }
    MethodReader reader(text, stage);
    return with_levels(entry->read(reader));
  }
  // make_codec names a codec that is near; a method may be nearer than none.
  const SpecStage& first = spec.stages.front();
  const std::vector<std::string> codecs = codec_stage_names();
  const bool is_codec = std::ranges::find(codecs, first.name) != codecs.end();
  if (!is_codec && !nearest_name(first.name, codecs)) fail_unknown(text, first, entries);
  return with_levels(parse_codec_alone(text));
}

std::unique_ptr<Method> make_method(Communicator& communicator, std::vector<MethodTensor> tensors,
                                    std::string_view spec, const MethodOptions& options) {
  const ParsedMethod method = parse_method(spec);
  if (options.grace.is_given()) {
    const std::string why = why_not_late(method, options.topology);
    if (!why.empty()) throw Error(why);
  }
  return method.make(communicator, std::move(tensors), options);
}

std::string why_not_late(const ParsedMethod& method, Topology topology) {
  const std::string name = method.spec + " cannot leave out late ranks: ";
  if (!method.why_not_late.empty()) return name + method.why_not_late;
  if (topology == Topology::automatic || traits_of(topology).has_owners) return "";
  return name + "the topology " + gradwire::name(topology) + " has no owners, use " +
         topologies_with_owners();
}

std::string any_topology() { return topology_names(); }

std::string topologies_with_messages() {
  return topology_names([](const TopologyTraits& traits) { return !traits.passes_sums; });
}

std::string topologies_with_owners() {
  return topology_names([](const TopologyTraits& traits) { return traits.has_owners; });
}

void register_method(MethodEntry entry) { registry().add(std::move(entry)); }

std::vector<MethodExample> example_methods() {
  std::vector<MethodExample> examples;
  for (const MethodEntry& entry : registry().entries()) {
    examples.insert(examples.end(), entry.examples.begin(), entry.examples.end());
  }
  for (const MethodPreset& preset : method_presets()) {
    if (preset.example) examples.push_back(*preset.example);
  }
  return examples;
}

std::vector<const NoteKind*> note_kinds() {
  std::vector<const NoteKind*> kinds;
  for (const MethodExample& example : example_methods()) {
    const NoteKind* const kind = parse_method(example.spec).note;
    if (kind == nullptr || std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace gradwire
