// The stages that a codec's spec can have, and how stages make a codec.
#include <algorithm>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/pipes.h"
#include "gradwire/codec/spec.h"
#include "gradwire/codec/stage.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

const std::vector<CodecStage>& stages() {
  static const std::vector<CodecStage> all = {
#define GRADWIRE_CODEC_STAGE(name) name##_stage(),
#include "gradwire/codec/stages.inc"
#undef GRADWIRE_CODEC_STAGE
  };
  return all;
}

// Lossless, so it is no quantiser: it codes the symbols of the stage before it.
constexpr std::string_view kEntropy = "entropy";

// Examples of pipes of several stages.
constexpr std::string_view kPipes[] = {"natural | entropy",        "qsgd(bits=4) | entropy",
                                       "topk(1%) | natural",       "topk(1%) | natural | entropy",
                                       "randk(1%) | qsgd(bits=4)", "topk(1%, chunk=4096) | twobit"};

const CodecStage* find_stage(std::string_view name) {
  const auto found = std::ranges::find(stages(), name, &CodecStage::name);
  return found == stages().end() ? nullptr : &*found;
}

// "topk, randk and threshold"
std::string sparsifier_names() {
  std::vector<std::string_view> names;
  for (const CodecStage& stage : stages()) {
    if (std::holds_alternative<MakeSparsifier>(stage.make)) names.push_back(stage.name);
  }
  std::string list;
  for (const std::string_view& name : names) {
    const bool is_last = &name == &names.back();
    list += (list.empty() ? "" : is_last ? " and " : ", ") + std::string(name);
  }
  return list;
}

[[noreturn]] void fail_unknown(std::string_view text, const SpecStage& stage) {
  const auto names = codec_stage_names();
  std::string what = "there is no codec called '" + stage.name + "'";
  if (const auto near = nearest_name(stage.name, names)) {
    what += "; did you mean '" + *near + "'?";
  } else {
    what += "; codecs are";
    for (const auto& name : names) what += (&name == &names.front() ? " " : ", ") + name;
  }
  fail_at(text, stage.position, what);
}

// The stages of a pipe as they are read: at most one sparsifier, one quantiser and the entropy
// stage, in this order.
struct Pipe {
  SparsifierPtr sparsifier;
  QuantiserPtr quantiser;
  bool entropy = false;
};

void add_entropy(StageReader& reader, Pipe& pipe) {
  if (!pipe.quantiser && !pipe.sparsifier) {
    reader.fail("the entropy stage codes what a stage before it makes: natural | entropy");
  }
  reader.finish();
  pipe.entropy = true;
}

void add_stage(std::string_view text, const SpecStage& stage, Pipe& pipe) {
  StageReader reader(text, stage);
  if (pipe.entropy) reader.fail("the entropy stage is lossless and comes last");
  if (stage.name == kEntropy) return add_entropy(reader, pipe);
  const CodecStage* const found = find_stage(stage.name);
  if (found == nullptr) fail_unknown(text, stage);
  if (const auto* make_sparsifier = std::get_if<MakeSparsifier>(&found->make)) {
    if (pipe.quantiser) reader.fail("'" + stage.name + "' must come before the quantiser");
    if (pipe.sparsifier) reader.fail("a pipe has room for one of " + sparsifier_names());
    pipe.sparsifier = (*make_sparsifier)(reader);
  } else {
    if (pipe.quantiser) reader.fail("a pipe has room for one quantiser");
    pipe.quantiser = std::get<MakeQuantiser>(found->make)(reader);
  }
}

QuantiserPtr make_plain_quantiser() {
  const CodecStage plain = none_stage();
  const SpecStage stage{.name = std::string(plain.name), .arguments = {}, .position = 0};
  StageReader reader(plain.name, stage);
  return std::get<MakeQuantiser>(plain.make)(reader);
}

std::string canonical_spec(const Pipe& pipe) {
  std::string spec;
  const auto add = [&](const std::string& stage) {
    if (!spec.empty()) spec += " | ";
    spec += stage;
  };
  if (pipe.sparsifier) add(pipe.sparsifier->spec());
  if (pipe.quantiser) add(pipe.quantiser->spec());
  if (pipe.entropy) add(std::string(kEntropy));
  return spec;
}

Pipe read_pipe(std::string_view text) {
  const Spec spec = parse_spec(text);
  Pipe pipe;
  for (const SpecStage& stage : spec.stages) add_stage(spec.text, stage, pipe);
  return pipe;
}

std::unique_ptr<const Codec> make_codec_of(Pipe pipe) {
  std::string canonical = canonical_spec(pipe);
  if (!pipe.quantiser) pipe.quantiser = make_plain_quantiser();
  ValueCoder coder(std::move(pipe.quantiser), pipe.entropy);
  if (pipe.sparsifier) {
    return std::make_unique<SparseCodec>(std::move(canonical), std::move(pipe.sparsifier),
                                         std::move(coder));
  }
  return std::make_unique<DenseCodec>(std::move(canonical), std::move(coder));
}

}  // namespace

std::size_t read_bucket(StageReader& stage) {
  return static_cast<std::size_t>(stage.integer("bucket", 512, 1, std::int64_t{1} << 31));
}

std::unique_ptr<const Codec> make_codec(std::string_view spec) {
  return make_codec_of(read_pipe(spec));
}

std::unique_ptr<const Codec> make_codec_without_entropy(std::string_view spec) {
  Pipe pipe = read_pipe(spec);
  if (!pipe.entropy) return nullptr;
  pipe.entropy = false;
  return make_codec_of(std::move(pipe));
}

std::unique_ptr<const Codec> make_plain_codec() { return make_codec(none_stage().name); }

std::vector<std::string> codec_stage_names() {
  std::vector<std::string> names;
  for (const CodecStage& stage : stages()) names.emplace_back(stage.name);
  names.emplace_back(kEntropy);
  return names;
}

std::vector<std::string> example_codec_specs() {
  std::vector<std::string> specs;
  for (const CodecStage& stage : stages()) {
    specs.insert(specs.end(), stage.examples.begin(), stage.examples.end());
  }
  specs.insert(specs.end(), std::begin(kPipes), std::end(kPipes));
  return specs;
}

}  // namespace gradwire
