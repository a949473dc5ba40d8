// GW_CHECK: a fact that our own code promises. When it does not hold there is a bug in gradwire, so
// the program stops with the place and the fact. Input from outside is never checked with it.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace gradwire {

[[noreturn]] inline void check_failed(const char* fact, const char* file, int line) {
  std::fprintf(stderr, "gradwire: bug: %s does not hold (%s:%d)\n", fact, file, line);
  std::abort();
}

}  // namespace gradwire

#define GW_CHECK(fact) \
  ((fact) ? static_cast<void>(0) : ::gradwire::check_failed(#fact, __FILE__, __LINE__))
