// Frames in flight. An Inbox has rooms for the next few frames from one peer, and gives them in the
// order in which they were sent; a FrameStore has a room for each of a fixed list of frames, which
// stay there until they are written again. Used on the progress thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/core/expected.h"
#include "gradwire/transport/presence.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

// What a rank sent, "a frame" or "a payload", is not what it should be: ends all ranks.
[[noreturn]] inline void refuse(Presence& presence, std::size_t sender, const char* what,
                                const DecodeError& error) {
  presence.fail(sender, std::string(what) + " from it was refused: " + error.what + " (byte " +
                            std::to_string(error.byte_offset) + ')');
}

// Frames that may be under way from one rank.
inline constexpr std::size_t kInboxRooms = 8;

// Rooms of different sizes in one stretch of memory. Memory that is never written is never used:
// what is reserved for the worst case costs nothing.
class FrameStore {
 public:
  explicit FrameStore(std::span<const std::size_t> bytes_max) {
    constexpr std::size_t kLine = 64;
    at_.push_back(0);
    for (const std::size_t bytes : bytes_max) {
      bytes_max_ = std::max(bytes_max_, bytes);
      at_.push_back(at_.back() + (bytes + kLine - 1) / kLine * kLine);
    }
    memory_ = std::make_unique_for_overwrite<std::byte[]>(at_.back());
  }

  std::size_t size() const { return at_.size() - 1; }
  std::size_t room_bytes_max() const { return bytes_max_; }
  std::span<std::byte> room(std::size_t i) {
    return {memory_.get() + at_[i], memory_.get() + at_[i + 1]};
  }
  std::span<const std::byte> room(std::size_t i) const {
    return {memory_.get() + at_[i], memory_.get() + at_[i + 1]};
  }

 private:
  std::vector<std::size_t> at_;
  std::size_t bytes_max_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

class Inbox {
 public:
  Inbox(Transport& transport, std::size_t peer, Tag tag, std::size_t frame_bytes_max,
        std::size_t rooms)
      : peer_(peer), store_(std::vector<std::size_t>(rooms, frame_bytes_max)) {
    for (std::size_t i = 0; i < rooms; ++i) {
      receivers_.push_back(transport.receiver(peer, tag, store_.room(i)));
    }
  }

  std::size_t peer() const { return peer_; }

  // That many frames will come. All that were expected before have been taken.
  void expect(std::size_t frames) {
    GW_CHECK(taken_ == expected_);
    taken_ = 0;
    expected_ = frames;
    for (std::size_t i = 0; i < std::min(frames, receivers_.size()); ++i) receivers_[i]->start();
  }

  bool is_empty() const { return taken_ == expected_; }
  std::size_t taken() const { return taken_; }

  // The next frame: whether it is there, and waiting for it.
  bool is_ready() { return !is_empty() && next().done(); }
  void await(Presence& presence) { presence.await(next()); }

  // The room that the next frame is in. What the frame says of its length is the truth.
  std::span<const std::byte> front() const { return store_.room(taken_ % receivers_.size()); }

  // The room is free again.
  void pop() {
    if (taken_ + receivers_.size() < expected_) next().start();
    ++taken_;
  }

 private:
  Receiver& next() { return *receivers_[taken_ % receivers_.size()]; }

  std::size_t peer_;
  FrameStore store_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::size_t expected_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace gradwire
