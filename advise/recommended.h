// The methods that gradwire recommends where the exchange takes most of a step, by optimiser. The
// one place: `advise`, `methods` and the tests of the documents take them from here.
#pragma once

#include <span>
#include <string>

namespace gradwire::advise {

struct Recommended {
  const char* optimiser;  // "SGD"
  const char* method;
  const char* fewer_bytes;  // sends less after a warm-up; "" if there is none
};

// The first one is for SGD.
std::span<const Recommended> recommended();

// "With AdamW, use `...`, or `...` for fewer bytes."
std::string recommendation_text(const Recommended& each);

// All of them, in one paragraph. The documents have this text, with its marks.
std::string recommendation_text();

}  // namespace gradwire::advise
