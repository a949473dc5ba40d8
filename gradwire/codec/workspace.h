// Workspace: the scratch memory of encoding and decoding. One a thread; it grows at first and is
// then reused, so that steady work does not allocate.
#pragma once

#include <memory>

namespace gradwire {

class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  // Takes as much memory as another one has: work that the other one did needs no more then.
  void grow_to(const Workspace& other);

  struct Buffers;  // what codecs see: buffers.h
  Buffers& buffers() { return *buffers_; }

 private:
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace gradwire
