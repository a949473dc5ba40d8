// Every stage that a codec's spec can have, and how stages make a codec.
#include <algorithm>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/pipes.h"
#include "gradwire/codec/quantisers.h"
#include "gradwire/codec/sparsifier.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

struct QuantiserEntry {
  std::string_view name;
  QuantiserPtr (*make)(StageReader&);
};
constexpr QuantiserEntry kQuantisers[] = {
    {"none", make_none},
    {"fp16", make_fp16},
    {"bf16", make_bf16},
    {"natural", make_natural},
    {"natural_dither", make_natural_dither},
    {"qsgd", make_qsgd},
    {"terngrad", make_terngrad},
    {"sign", make_sign},
};

struct SparsifierEntry {
  std::string_view name;
  SparsifierPtr (*make)(StageReader&);
};
constexpr SparsifierEntry kSparsifiers[] = {
    {"topk", make_topk}, {"randk", make_randk}, {"threshold", make_threshold}};

constexpr std::string_view kEntropy = "entropy";

template <class Entry, std::size_t kCount>
const Entry* find(const Entry (&entries)[kCount], std::string_view name) {
  const auto* entry = std::find_if(std::begin(entries), std::end(entries),
                                   [&](const Entry& e) { return e.name == name; });
  return entry == std::end(entries) ? nullptr : entry;
}

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (const auto& entry : kQuantisers) names.emplace_back(entry.name);
  for (const auto& entry : kSparsifiers) names.emplace_back(entry.name);
  names.emplace_back(kEntropy);
  return names;
}

[[noreturn]] void fail_unknown(std::string_view text, const SpecStage& stage) {
  const auto names = stage_names();
  std::string what = "there is no codec called '" + stage.name + "'";
  if (const auto near = nearest_name(stage.name, names)) {
    what += "; did you mean '" + *near + "'?";
  } else {
    what += "; there are";
    for (const auto& name : names) what += " " + name;
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

void add_stage(std::string_view text, const SpecStage& stage, Pipe& pipe) {
  StageReader reader(text, stage);
  if (pipe.entropy) reader.fail("the entropy stage is lossless and comes last");
  if (const auto* entry = find(kSparsifiers, stage.name)) {
    if (pipe.quantiser) reader.fail("'" + stage.name + "' must come before the quantiser");
    if (pipe.sparsifier) reader.fail("a pipe has room for one of topk, randk and threshold");
    pipe.sparsifier = entry->make(reader);
  } else if (const auto* quantiser = find(kQuantisers, stage.name)) {
    if (pipe.quantiser) reader.fail("a pipe has room for one quantiser");
    pipe.quantiser = quantiser->make(reader);
  } else if (stage.name == kEntropy) {
    if (!pipe.quantiser && !pipe.sparsifier) {
      reader.fail("the entropy stage codes what a stage before it makes: natural | entropy");
    }
    reader.finish();
    pipe.entropy = true;
  } else {
    fail_unknown(text, stage);
  }
}

QuantiserPtr plain_none() {
  const SpecStage stage{.name = "none", .arguments = {}, .position = 0};
  StageReader reader("none", stage);
  return make_none(reader);
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

}  // namespace

void Scale::reset(std::size_t elements) {
  tensor_elements = elements;
  value = 0;
  poisoned = false;
  finite = true;
  indices.clear();
  values.clear();
}

std::size_t read_bucket(StageReader& stage) {
  return static_cast<std::size_t>(stage.integer("bucket", 512, 1, std::int64_t{1} << 31));
}

std::unique_ptr<const Codec> make_codec(std::string_view text) {
  const Spec spec = parse_spec(text);
  Pipe pipe;
  for (const SpecStage& stage : spec.stages) add_stage(spec.text, stage, pipe);
  std::string canonical = canonical_spec(pipe);
  if (!pipe.quantiser) pipe.quantiser = plain_none();
  ValueCoder coder(std::move(pipe.quantiser), pipe.entropy);
  if (pipe.sparsifier) {
    return std::make_unique<SparseCodec>(std::move(canonical), std::move(pipe.sparsifier),
                                         std::move(coder));
  }
  return std::make_unique<DenseCodec>(std::move(canonical), std::move(coder));
}

std::vector<std::string> example_codec_specs() {
  return {"none",
          "fp16",
          "bf16",
          "natural",
          "natural(bits=8)",
          "natural_dither(levels=7)",
          "qsgd(bits=8)",
          "qsgd(bits=4)",
          "qsgd(bits=2)",
          "qsgd(bits=4, norm=l2)",
          "qsgd(bits=4, rounding=nearest)",
          "terngrad",
          "terngrad(clip=off)",
          "sign",
          "sign(scale=off)",
          "topk(1%)",
          "randk(1%)",
          "randk(1%, seed=shared)",
          "threshold(0.01)",
          "natural | entropy",
          "qsgd(bits=4) | entropy",
          "topk(1%) | natural",
          "topk(1%) | natural | entropy",
          "randk(1%) | qsgd(bits=4)"};
}

}  // namespace gradwire
