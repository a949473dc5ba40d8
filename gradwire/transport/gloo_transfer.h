// Senders and receivers over one of Gloo's connections. Gloo's own ways to wait either block for
// good or, on a time-out, close all connections of all ranks; these test and wait without harm.
//
// A transfer may be destroyed while it is under way. Gloo cannot take back what it has promised to
// the peer, and a buffer that is gone would block the connection for all lanes. So its place is
// taken by memory of our own: what was to be sent is sent from a copy, and the next receiver of the
// lane takes over what the old one had asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gloo/transport/tcp/context.h"
#include "gradwire/transport/gloo_pair.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

enum class GlooDirection { send, receive };

// Memory that Gloo reads or writes.
class GlooBuffer : public gloo::transport::tcp::UnboundBuffer {
 public:
  GlooBuffer(const std::shared_ptr<gloo::transport::tcp::Context>& context,
             std::span<std::byte> memory)
      : UnboundBuffer(context, memory.data(), memory.size()) {}

  // True once for each operation that has completed.
  bool take_completion(GlooDirection direction);

  // Waits until an operation has completed or failed, but not longer.
  void wait_until(GlooDirection direction, std::chrono::steady_clock::time_point time);

  GlooPair::WeakBuffer weak() const { return getWeakNonOwningPtr(); }
};

// Stands in Gloo's queues for a transfer that was destroyed while it was under way.
struct AbandonedTransfer {
  GlooDirection direction;
  std::uint64_t slot;
  std::vector<std::byte> memory;
  GlooBuffer buffer;
};

// A connection to one peer. For the one thread that uses the transport.
struct GlooConnection {
  std::shared_ptr<gloo::transport::tcp::Context> context;
  gloo::transport::tcp::Pair* pair = nullptr;  // the context's
  std::size_t peer = 0;
  std::string address;
  std::vector<std::unique_ptr<AbandonedTransfer>> abandoned = {};  // oldest first
  std::chrono::steady_clock::time_point next_look = {};
  bool known_broken = false;

  // Looks no more often than once a millisecond, since Gloo's thread skips a pair that is being
  // looked at.
  bool is_broken();

  [[noreturn]] void fail() const;
};

// The connection and the memory outlive them.
std::unique_ptr<Sender> make_gloo_sender(GlooConnection& connection, Tag tag,
                                         std::span<const std::byte> memory);
std::unique_ptr<Receiver> make_gloo_receiver(GlooConnection& connection, Tag tag,
                                             std::span<std::byte> memory);

}  // namespace gradwire
