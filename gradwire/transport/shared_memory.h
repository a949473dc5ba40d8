// SharedMemory: memory that ranks on one machine share, whether they are threads or processes. It
// has no name in any directory: it goes with the last process that has it, however that one ends.
// Only processes of the same user can open it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "gradwire/transport/descriptor.h"

namespace gradwire {

class SharedMemory {
 public:
  // Zeros. Throws Error if the machine has not so much memory.
  static std::shared_ptr<SharedMemory> create(std::size_t bytes);

  // The one with this ticket. Threads of one process get the same object. Throws Error, with the
  // reason: not every pair of processes can share memory, such as those in two containers.
  static std::shared_ptr<SharedMemory> open(const std::string& ticket);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // For open(), while this lives. Printable, without spaces.
  const std::string& ticket() const { return ticket_; }
  // At the start of a page.
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  SharedMemory(Descriptor file, std::size_t bytes, std::string ticket);

  Descriptor file_;
  std::string ticket_;
  std::span<std::byte> bytes_;
};

}  // namespace gradwire
