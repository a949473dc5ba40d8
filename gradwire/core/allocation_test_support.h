// For tests: counts every allocation of the program, in `allocations`. Takes the place of malloc,
// so one file of a program may include it. Where a sanitizer has taken that place already,
// GW_ALLOCATOR_IS_TAKEN is 1 and nothing is counted.
#pragma once

#include <atomic>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GW_ALLOCATOR_IS_TAKEN 1
#else
#define GW_ALLOCATOR_IS_TAKEN 0
#endif

namespace {
std::atomic<std::size_t> allocations = 0;
}

#if !GW_ALLOCATOR_IS_TAKEN
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
}
#endif
