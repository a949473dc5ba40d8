// Transport: moves bytes between the ranks of a group, without blocking. In-process (threads), tcp
// (processes and hosts) and MPI (clusters) are behind this one interface; what they share, such as
// finding out that a peer is gone, is built on top of it (presence.h).
//
// One thread at a time uses a transport and its transfers. A transfer is made once and started
// again and again, so that steady work does not allocate. Messages of one lane from one rank to
// another arrive in the order in which they were sent, and are matched to receivers in the order in
// which those were started.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gradwire/core/error.h"
#include "gradwire/transport/scattered.h"

namespace gradwire {

// A peer is gone, silent, or sent what it should not have.
class PeerError : public Error {
 public:
  PeerError(const std::string& message, std::size_t rank) : Error(message), rank_(rank) {}

  // The rank that is the first cause.
  std::size_t rank() const { return rank_; }

 private:
  std::size_t rank_;
};

// Ranks did not come together, or do not fit together.
class StartError : public Error {
 public:
  using Error::Error;
};

// What a message is for. Lanes do not wait for one another.
enum class Lane : std::uint8_t {
  presence = 0,   // "I live", "I leave", "it is over"
  agreement = 1,  // what ranks compare at the start
  up = 2,         // frames to the owner of a chunk
  down = 3,       // frames from it
  hop = 4,        // frames along a ring
};

// A lane of an exchange in a group of ranks. Group 0 is everybody; exchange 0 is for messages that
// belong to no exchange.
struct Tag {
  static constexpr std::uint16_t kExchangeMax = (1 << 12) - 1;

  Lane lane = Lane::presence;
  std::uint16_t group = 0;
  std::uint16_t exchange = 0;  // at most kExchangeMax

  // At most 31 bits; without a group at most 15, which is all that MPI promises.
  constexpr std::uint32_t number() const {
    return std::uint32_t{group} << 15 | std::uint32_t{exchange} << 3 |
           static_cast<std::uint32_t>(lane);
  }
  static constexpr Lane lane_of(std::uint32_t number) { return static_cast<Lane>(number & 7); }
};

// One message's way between memory and a peer. Destroying it while it is under way gives it up.
class Transfer {
 public:
  virtual ~Transfer() = default;

  // True if nothing is under way: the memory is the caller's. Throws PeerError when the peer is
  // gone, however often it is called.
  virtual bool done() = 0;

  // Waits until done, but not longer than that. The same answers as done().
  virtual bool wait_for(std::chrono::microseconds time) = 0;
};

class Sender : public Transfer {
 public:
  // Sends the first `bytes` bytes of the memory, and then the parts: memory of the caller that goes
  // out as it is. None of it may change until done, nor the list of the parts.
  virtual void start(std::size_t bytes, MessageToSend::Parts parts) = 0;
  void start(std::size_t bytes) { start(bytes, {}); }
};

class Receiver : public Transfer {
 public:
  // Takes the next message, which fills the memory and then the parts. It may be shorter: what it
  // says of its own length is the truth, and bytes behind it may be anything.
  virtual void start(MessageRoom::Parts parts) = 0;
  void start() { start(MessageRoom::Parts()); }
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const char* name() const = 0;  // "in-process", "tcp" or "mpi"
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  // Where a rank is, for messages: "10.0.0.2:41873", "host node3", "thread 2".
  virtual std::string address(std::size_t rank) const = 0;

  // The peer is not this rank itself. The memory outlives the transfer, which does not outlive the
  // transport.
  virtual std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                         std::span<const std::byte> memory) = 0;
  virtual std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                             std::span<std::byte> memory) = 0;

  // Waits until a transfer has come further since the last wait, or wake() is called, but not
  // longer than that. Whose transfer it was is for the caller to find out.
  virtual void wait_for_any(std::chrono::microseconds time) = 0;
  // Ends the wait of another thread, or the next one. The only function for other threads.
  virtual void wake() noexcept = 0;

  // How many connections were refused while the ranks came together: strangers, and ranks of other
  // runs.
  virtual std::size_t refused_connections() const { return 0; }

  // The transport's own sum of floats over all ranks: a yardstick. Blocks.
  virtual void allreduce(std::span<float> values) = 0;

  // Ends all connections at once; every later call may throw PeerError. With MPI the whole job
  // ends, but not before this process does, so that the program can say why.
  virtual void abandon() noexcept = 0;
};

// Some of a transport's ranks as a transport of their own, which must not outlive it. `members` are
// ranks of the parent in rising order, this one among them; all of them name the same `group`,
// which is not 0 and is in use only once at a time. Errors of its transfers name ranks as `names`
// says.
enum class GroupErrors { name_members, name_parent_ranks };
std::unique_ptr<Transport> make_subgroup(Transport& parent, std::span<const std::size_t> members,
                                         std::uint16_t group,
                                         GroupErrors names = GroupErrors::name_members);

}  // namespace gradwire
