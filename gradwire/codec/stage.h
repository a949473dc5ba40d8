// CodecStage: the description of one stage of codecs: its name, its maker, examples. A new codec is
// a file that defines `CodecStage NAME_stage()`, and a line in stages.inc. Value type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gradwire/codec/quantiser.h"
#include "gradwire/codec/sparsifier.h"
#include "gradwire/codec/spec.h"

namespace gradwire {

// Both read the stage's arguments. They throw SpecError.
using MakeQuantiser = QuantiserPtr (*)(StageReader&);
using MakeSparsifier = SparsifierPtr (*)(StageReader&);

struct CodecStage {
  std::string_view name;
  std::variant<MakeQuantiser, MakeSparsifier> make;

  // Specs of this stage alone, for listings, tests and fuzzing.
  std::vector<std::string> examples;
};

#define GRADWIRE_CODEC_STAGE(name) CodecStage name##_stage();
#include "gradwire/codec/stages.inc"
#undef GRADWIRE_CODEC_STAGE

// The bucket=... argument that quantisers with buckets share.
std::size_t read_bucket(StageReader& stage);

}  // namespace gradwire
