// FrameStream: all frames of one lane from one peer, call after call, without an end. The rooms for
// the next calls are announced from the start, so frames come while this rank does something else.
// Used on the progress thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gradwire/collective/frame_inbox.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

class FrameStream {
 public:
  // `bytes_max` has the frames of one call; there is room for `calls` calls.
  FrameStream(Transport& transport, std::size_t peer, Tag tag,
              std::span<const std::size_t> bytes_max, std::size_t calls)
      : peer_(peer), per_call_(bytes_max.size()), store_(repeated(bytes_max, calls)) {
    for (std::size_t i = 0; i < store_.size(); ++i) {
      receivers_.push_back(transport.receiver(peer, tag, store_.room(i)));
      receivers_.back()->start();
    }
  }

  std::size_t peer() const { return peer_; }

  // Frames are counted from the first call on. Those before taken() have been given back, and those
  // before arrived() are here. Throws PeerError.
  std::uint64_t taken() const { return taken_; }
  std::uint64_t arrived() {
    while (arrived_ < taken_ + receivers_.size() && receiver(arrived_).done()) ++arrived_;
    return arrived_;
  }
  std::uint64_t calls_taken() const { return taken_ / per_call_; }
  // Whether all frames of a call are here.
  bool has_call(std::uint64_t call) { return arrived() >= (call + 1) * per_call_; }

  // Its room, which is longer than the frame.
  std::span<const std::byte> frame(std::uint64_t index) const {
    GW_CHECK(index >= taken_ && index < arrived_);
    return store_.room(index % receivers_.size());
  }
  // Gives the oldest frame back.
  void pop() {
    GW_CHECK(taken_ < arrived_);
    receiver(taken_++).start();
  }

 private:
  static std::vector<std::size_t> repeated(std::span<const std::size_t> bytes_max,
                                           std::size_t calls) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < calls; ++i)
      all.insert(all.end(), bytes_max.begin(), bytes_max.end());
    return all;
  }
  Receiver& receiver(std::uint64_t index) { return *receivers_[index % receivers_.size()]; }

  const std::size_t peer_;
  const std::size_t per_call_;
  FrameStore store_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::uint64_t taken_ = 0;
  std::uint64_t arrived_ = 0;
};

}  // namespace gradwire
