// PageArray: a fixed number of trivial elements, aligned to a page of memory, so that the address
// of an array does not change measured speeds. Owns its memory. All pages are touched (zero), so
// that none is mapped for the first time while a clock runs.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace gradwire::bench {

template <class T>
class PageArray {
  static_assert(std::is_trivial_v<T>);

 public:
  explicit PageArray(std::size_t count) : memory_(allocate(count)), count_(count) {}

  std::span<T> span() { return {memory_.get(), count_}; }
  std::span<const T> span() const { return {memory_.get(), count_}; }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };

  static T* allocate(std::size_t count) {
    constexpr std::size_t kBytesMax = std::numeric_limits<std::size_t>::max() - 2 * kPageBytes;
    if (count > kBytesMax / sizeof(T)) throw std::bad_alloc();
    const std::size_t pages = count * sizeof(T) / kPageBytes + 1;
    void* const memory = std::aligned_alloc(kPageBytes, pages * kPageBytes);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, pages * kPageBytes);
    return static_cast<T*>(memory);
  }

  std::unique_ptr<T[], Free> memory_;
  std::size_t count_;
};

}  // namespace gradwire::bench
