// For tests: counts the memory of OpenSSL apart from everybody else's. Takes the place of its
// allocator before main(), so one file of a program may include it, behind
// allocation_test_support.h. Where a sanitizer counts, OpenSSL keeps its own allocator.
#pragma once

#include <openssl/crypto.h>

#include <atomic>
#include <cstddef>

#include "gradwire/core/allocation_test_support.h"

namespace {

struct OpenSslMemory {
  std::atomic<std::size_t> allocations = 0;
  std::atomic<std::size_t> bytes = 0;  // that it holds now
  bool is_counted = false;
} openssl_memory;

}  // namespace

#if !GW_ALLOCATOR_IS_TAKEN
extern "C" {
void __libc_free(void* memory);
std::size_t malloc_usable_size(void* memory);
}

namespace {

void* count_openssl_malloc(std::size_t bytes, const char*, int) {
  ++openssl_memory.allocations;
  void* const memory = __libc_malloc(bytes);
  openssl_memory.bytes += malloc_usable_size(memory);
  return memory;
}

void* count_openssl_realloc(void* old, std::size_t bytes, const char*, int) {
  ++openssl_memory.allocations;
  openssl_memory.bytes -= malloc_usable_size(old);
  void* const memory = __libc_realloc(old, bytes);
  openssl_memory.bytes += malloc_usable_size(memory);
  return memory;
}

void count_openssl_free(void* memory, const char*, int) {
  openssl_memory.bytes -= malloc_usable_size(memory);
  __libc_free(memory);
}

[[maybe_unused]] const bool openssl_is_counted = openssl_memory.is_counted =
    CRYPTO_set_mem_functions(count_openssl_malloc, count_openssl_realloc, count_openssl_free) == 1;

}  // namespace
#endif
