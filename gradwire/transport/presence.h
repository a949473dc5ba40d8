// Presence: keeps telling the peers that this rank lives, and finds out which of them does not.
// When a rank is lost, whoever sees it first tells everybody, so that all ranks name the same first
// cause and none waits for ever.
//
// Used by one thread, the one that uses the transport. It has to come by often: call tick() when
// idle and await() instead of waiting for a transfer.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/transport/transport.h"

namespace gradwire {

// Why it is over.
struct Cause {
  std::size_t rank = 0;    // the one that was lost
  std::size_t finder = 0;  // the one that noticed
  std::uint64_t step = 0;  // that the finder was at
  std::string reason;
};

class Presence {
 public:
  // The transport must outlive it. A peer that is silent for longer than peer_timeout is lost.
  Presence(Transport& transport, std::chrono::milliseconds peer_timeout);
  // That of some of the ranks, which call each other by their places among `members`: all that it
  // is told goes to `whole`, which must outlive it. Errors name the ranks of `whole`.
  Presence(Presence& whole, std::vector<std::size_t> members);

  // Says that this rank lives, when it is time to, and listens. Throws PeerError.
  void tick();

  // How long tick() may be left alone.
  std::chrono::milliseconds tick_interval() const { return slice_; }

  // Waits for a transfer. Throws PeerError, also where it does not come although a peer has left
  // long ago, which is then missed.
  void await(Transfer& transfer);

  // Waits until some transfer has come further, but no longer than `time` and tick_interval().
  // `since`: how long the caller has waited already. Throws PeerError like await().
  void await_any(std::chrono::steady_clock::time_point since, std::chrono::microseconds time);

  // Something came from the peer: it lives.
  void heard(std::size_t peer);

  // What this rank is at, for messages.
  void set_step(std::uint64_t step);

  // Tells everybody that the rank is lost and why, ends all connections, and throws PeerError.
  [[noreturn]] void fail(std::size_t rank, const std::string& reason);

  // A transfer has thrown: finds out whether its peer is the first cause, and ends like fail().
  [[noreturn]] void lose(const PeerError& error);

  // True once fail() or lose() has ended everything.
  bool is_over() const { return whole_ != nullptr ? whole_->is_over() : first_cause_.has_value(); }

  // Says goodbye and waits until everybody else has, twice: who hears the second one knows that the
  // first was heard, and that nobody is left who would miss it. Throws PeerError.
  void leave();

  static constexpr std::size_t kMessageBytes = 512;
  using Message = std::array<std::byte, kMessageBytes>;

 private:
  using Clock = std::chrono::steady_clock;

  struct Peer {
    Message in{};
    std::unique_ptr<Sender> beat;  // sends beat_
    // Both send goodbye_: the second shall not wait until the first has gone out.
    std::array<std::unique_ptr<Sender>, 2> goodbye;
    std::unique_ptr<Sender> verdict;  // sends verdict_
    std::unique_ptr<Receiver> listen;
    Clock::time_point last_heard;
    int goodbyes = 0;  // how often it has said goodbye; it stays until all have
    Clock::time_point left_at;
    bool is_gone = false;  // and its connection is closed

    bool has_left() const { return goodbyes > 0; }
  };

  // A time without a tick.
  struct TickGap {
    Clock::duration time{};
    Clock::time_point end{};
  };

  bool is_other(std::size_t rank) const { return rank != transport_.rank(); }
  void come_by(Clock::time_point now);
  void say_alive(Clock::time_point now);
  void listen();
  void listen_to(std::size_t rank);
  void check_peer_timeout(Clock::time_point now);
  void check_left(Clock::time_point waiting_since);
  void read(std::size_t rank);
  void broke(std::size_t rank, const PeerError& error);
  void say_goodbye(int times);
  void drain() noexcept;
  [[noreturn]] void end(const Cause& cause);
  std::string describe(const Cause& cause) const;

  Presence* const whole_ = nullptr;  // of which this is a part
  const std::vector<std::size_t> members_;
  Transport& transport_;
  const std::chrono::milliseconds peer_timeout_;
  const std::chrono::milliseconds interval_;  // between beats
  const std::chrono::milliseconds slice_;     // the longest wait without a tick
  Message beat_{}, goodbye_{}, verdict_{};
  std::vector<Peer> peers_;  // by rank; this rank's own is not used
  Clock::time_point last_tick_;
  Clock::time_point next_beat_;
  TickGap tick_gap_;  // the last one that was longer than the peers wait
  std::uint64_t step_ = 0;
  std::optional<Cause> first_cause_;  // why it is over
  std::optional<Cause> told_;         // what a peer said it is over for
};

}  // namespace gradwire
