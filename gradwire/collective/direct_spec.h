// The spec of the simplest method: every worker sends its values through a codec as they are, and
// the mean comes back through another. Pure functions.
//
//   natural                      a codec alone: direct(natural)
//   direct(natural)              the way down is left to the exchange
//   direct(natural, down=none)   both ways are given
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gradwire/codec/codec.h"

namespace gradwire {

struct DirectSpec {
  std::shared_ptr<const Codec> up;
  std::shared_ptr<const Codec> down;  // null: not given
  std::string text;                   // as it was given, with the codecs in their canonical form
};

// Throws SpecError; positions count from the start of the whole text.
DirectSpec parse_direct_spec(std::string_view text);

}  // namespace gradwire
