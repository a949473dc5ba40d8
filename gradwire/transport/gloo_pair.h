// What Gloo knows of its connection to one peer (a tcp::Pair) and does not tell: whether it is
// broken, why, and which of our buffers its queues name. Thread-safe: everything is looked at under
// the pair's own lock.
//
// Gloo tells the buffers that wait in its queues when a connection breaks, but not the one whose
// bytes are half sent or half received. So transfers ask the pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gloo/transport/tcp/pair.h"
#include "gloo/transport/tcp/unbound_buffer.h"

namespace gradwire {

// Derived only to name what tcp::Pair protects; there are no objects of it.
class GlooPair : public gloo::transport::tcp::Pair {
 public:
  using Pair = gloo::transport::tcp::Pair;
  using Buffer = gloo::transport::tcp::UnboundBuffer;
  using WeakBuffer = gloo::WeakNonOwningPtr<Buffer>;

  GlooPair() = delete;

  // Never waits: a pair whose lock is held is at work.
  static bool is_broken(Pair& pair);

  // Gloo's words for why it is broken, without its source lines: "Connection reset by peer". Empty
  // if there is nothing to add.
  static std::string reason(Pair& pair);

  // The two ends: "10.0.0.3:4711".
  static std::string own_address(Pair& pair);
  static std::string peer_address(Pair& pair);

  // Puts `to` in the place of `from` wherever the pair is about to read or write it, and copies
  // what of a half-received message is there. `to` is not smaller than the message. False if the
  // pair knows nothing of `from`, which is then done, or if the message does not fit.
  static bool replace(Pair& pair, std::uint64_t slot, const Buffer& from, const Buffer& to,
                      const WeakBuffer& weak_to);

 private:
  static bool replace_queued(Pair& pair, std::uint64_t slot, const Buffer& from, const Buffer& to,
                             const WeakBuffer& weak_to);
  static bool replace_half_done(Pair& pair, const Buffer& from, const Buffer& to,
                                const WeakBuffer& weak_to);
};

// What an exception of Gloo says, without source file, line and address.
std::string gloo_reason(const std::string& what);

}  // namespace gradwire
