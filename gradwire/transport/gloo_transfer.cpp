#include "gradwire/transport/gloo_transfer.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "gradwire/transport/check_transfer.h"
#include "gradwire/transport/sigpipe_guard.h"

namespace gradwire {
namespace {

using Clock = std::chrono::steady_clock;

// Nobody wakes those who wait for a message that stops half-way, so they look for themselves.
constexpr std::chrono::milliseconds kLookInterval{20};

// Leaves a copy in Gloo's queues, so that the caller's memory is free. Destructors call it: if
// there is no memory, the connection stays blocked, which is bad but safe.
void abandon(GlooConnection& connection, GlooDirection direction, std::uint64_t slot,
             GlooBuffer& buffer) noexcept try {
  const std::span<std::byte> bytes(static_cast<std::byte*>(buffer.ptr), buffer.size);
  std::vector<std::byte> memory(bytes.begin(), bytes.end());
  const std::span<std::byte> copied(memory);
  std::unique_ptr<AbandonedTransfer> abandoned(new AbandonedTransfer{
      direction, slot, std::move(memory), GlooBuffer(connection.context, copied)});
  connection.abandoned.reserve(connection.abandoned.size() + 1);
  bool keep = GlooPair::replace(*connection.pair, slot, buffer, abandoned->buffer,
                                abandoned->buffer.weak());
  if (!keep && direction == GlooDirection::receive && buffer.take_completion(direction)) {
    // The message has come since the caller looked.
    std::copy(bytes.begin(), bytes.end(), abandoned->memory.begin());
    abandoned->buffer.handleRecvCompletion(static_cast<int>(connection.peer));
    keep = true;
  }
  if (keep) connection.abandoned.push_back(std::move(abandoned));
} catch (...) {
}

// Sends that have gone out meanwhile are over with.
void forget_sent(GlooConnection& connection) {
  std::erase_if(connection.abandoned, [](const std::unique_ptr<AbandonedTransfer>& old) {
    return old->direction == GlooDirection::send &&
           old->buffer.take_completion(GlooDirection::send);
  });
}

// If a receiver of the slot was abandoned, its message is for this one. True if it is there already
// or asked for.
bool take_over(GlooConnection& connection, std::uint64_t slot, GlooBuffer& buffer) {
  const auto place = std::find_if(
      connection.abandoned.begin(), connection.abandoned.end(), [&](const auto& candidate) {
        return candidate->direction == GlooDirection::receive && candidate->slot == slot;
      });
  if (place == connection.abandoned.end()) return false;
  AbandonedTransfer& old = **place;
  bool taken = GlooPair::replace(*connection.pair, slot, old.buffer, buffer, buffer.weak());
  if (!taken && old.buffer.take_completion(GlooDirection::receive)) {
    std::copy_n(old.memory.begin(), std::min(old.memory.size(), buffer.size),
                static_cast<std::byte*>(buffer.ptr));
    buffer.handleRecvCompletion(static_cast<int>(connection.peer));
    taken = true;
  }
  if (taken) connection.abandoned.erase(place);
  return taken;
}

// What senders and receivers share.
class GlooOperation {
 public:
  GlooOperation(GlooConnection& connection, GlooDirection direction, Tag tag,
                std::span<std::byte> memory)
      : connection_(connection),
        direction_(direction),
        slot_(tag.number()),
        buffer_(connection.context, memory) {}

  ~GlooOperation() {
    if (under_way_ && !buffer_.take_completion(direction_)) {
      abandon(connection_, direction_, slot_, buffer_);
    }
  }

  void start(std::size_t bytes) {
    check_message_bytes(bytes, buffer_.size);
    check_can_start(!done());
    under_way_ = true;  // even if it fails: then done() says so
    if (connection_.is_broken()) connection_.fail();
    try {
      const SigpipeGuard guard;
      begin(bytes);
    } catch (const std::exception&) {
      connection_.fail();
    }
  }

  bool done() {
    if (!under_way_) return true;
    if (!buffer_.take_completion(direction_)) {
      if (!connection_.is_broken()) return false;
      // The peer may have sent its last words and left since we looked.
      if (!buffer_.take_completion(direction_)) connection_.fail();
    }
    under_way_ = false;
    return true;
  }

  bool wait_for(std::chrono::microseconds time) {
    const Clock::time_point end = Clock::now() + time;
    for (;;) {
      if (done()) return true;
      const Clock::time_point now = Clock::now();
      if (now >= end) return false;
      buffer_.wait_until(direction_, std::min(end, now + kLookInterval));
    }
  }

 private:
  void begin(std::size_t bytes) {
    const int peer = static_cast<int>(connection_.peer);
    if (direction_ == GlooDirection::send) {
      if (!connection_.abandoned.empty()) forget_sent(connection_);
      buffer_.send(peer, slot_, 0, bytes);
    } else if (connection_.abandoned.empty() || !take_over(connection_, slot_, buffer_)) {
      buffer_.recv(peer, slot_, 0, bytes);
    }
  }

  GlooConnection& connection_;
  const GlooDirection direction_;
  const std::uint64_t slot_;
  bool under_way_ = false;
  GlooBuffer buffer_;
};

class GlooSender final : public Sender {
 public:
  // Gloo has one kind of buffer for both directions, and does not write to those that it sends.
  GlooSender(GlooConnection& connection, Tag tag, std::span<const std::byte> memory)
      : operation_(connection, GlooDirection::send, tag,
                   {const_cast<std::byte*>(memory.data()), memory.size()}) {}

  void start(std::size_t bytes) override { operation_.start(bytes); }
  bool done() override { return operation_.done(); }
  bool wait_for(std::chrono::microseconds time) override { return operation_.wait_for(time); }

 private:
  GlooOperation operation_;
};

class GlooReceiver final : public Receiver {
 public:
  GlooReceiver(GlooConnection& connection, Tag tag, std::span<std::byte> memory)
      : bytes_(memory.size()), operation_(connection, GlooDirection::receive, tag, memory) {}

  void start() override { operation_.start(bytes_); }
  bool done() override { return operation_.done(); }
  bool wait_for(std::chrono::microseconds time) override { return operation_.wait_for(time); }

 private:
  std::size_t bytes_;
  GlooOperation operation_;
};

}  // namespace

bool GlooBuffer::take_completion(GlooDirection direction) {
  const std::lock_guard lock(m_);
  int& completions = direction == GlooDirection::send ? sendCompletions_ : recvCompletions_;
  if (completions == 0) return false;
  --completions;
  return true;
}

void GlooBuffer::wait_until(GlooDirection direction, Clock::time_point time) {
  const bool sends = direction == GlooDirection::send;
  const int& completions = sends ? sendCompletions_ : recvCompletions_;
  std::unique_lock lock(m_);
  (sends ? sendCv_ : recvCv_).wait_until(lock, time, [&] {
    return completions > 0 || ex_ != nullptr;
  });
}

bool GlooConnection::is_broken() {
  constexpr std::chrono::milliseconds kInterval{1};
  if (known_broken) return true;
  const Clock::time_point now = Clock::now();
  if (now < next_look) return false;
  next_look = now + kInterval;
  known_broken = GlooPair::is_broken(*pair);
  return known_broken;
}

void GlooConnection::fail() const {
  std::string message =
      "the connection to rank " + std::to_string(peer) + " at " + address + " is closed";
  const std::string reason = GlooPair::reason(*pair);
  if (!reason.empty()) message += ": " + reason;
  throw PeerError(message, peer);
}

std::unique_ptr<Sender> make_gloo_sender(GlooConnection& connection, Tag tag,
                                         std::span<const std::byte> memory) {
  return std::make_unique<GlooSender>(connection, tag, memory);
}

std::unique_ptr<Receiver> make_gloo_receiver(GlooConnection& connection, Tag tag,
                                             std::span<std::byte> memory) {
  return std::make_unique<GlooReceiver>(connection, tag, memory);
}

}  // namespace gradwire
