// Workspace: the scratch memory of encoding and decoding. One a thread; it grows at first and is
// then reused, so that steady work does not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gradwire {

class EntropyCoder;

class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  // Each slot is one buffer; asking again gives the same memory, larger if need be. The content is
  // not kept.
  std::span<std::byte> bytes(std::size_t slot, std::size_t count);
  std::span<float> floats(std::size_t count);
  std::span<std::uint32_t> words(std::size_t count);

  EntropyCoder& entropy_coder();

 private:
  static constexpr std::size_t kByteSlots = 4;
  std::vector<std::byte> bytes_[kByteSlots];
  std::vector<float> floats_;
  std::vector<std::uint32_t> words_;
  std::unique_ptr<EntropyCoder> entropy_coder_;
};

}  // namespace gradwire
