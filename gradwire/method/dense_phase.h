// What methods with a phase of uncompressed steps share: adam(...) and local(...). Both go around
// another method, and average whole gradients at first.
#pragma once

#include "gradwire/codec/codec.h"
#include "gradwire/codec/spec.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

bool is_unbiased(const Codec& codec);

// An argument that is a pipe of codecs, or else a method.
bool names_codec(const SpecArgument& argument);

// The method of dense=CODEC: gradients that are right on average, natural | entropy by default.
ParsedMethod read_dense(MethodReader& reader);

}  // namespace gradwire
