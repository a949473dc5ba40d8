// GW_CHECK: an assertion about our own code, in all builds. If it fails there is a bug in gradwire,
// and the program stops with the condition and the line. Never use it to check a caller's input.
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
