// direct(C): the mean of what a codec makes of each gradient. A codec's spec alone stands for it.
#pragma once

#include <string_view>

#include "gradwire/method/parsed_method.h"

namespace gradwire {

// The text is a codec's spec. Throws SpecError.
ParsedMethod parse_codec_alone(std::string_view text);

}  // namespace gradwire
