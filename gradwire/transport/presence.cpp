#include "gradwire/transport/presence.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "gradwire/core/bytes.h"

namespace gradwire {
namespace {

using std::chrono::milliseconds;

// A message: the magic, what it says, and for a verdict the cause.
constexpr std::uint32_t kMagic = 0x50525747;  // "GWRP"
enum class Kind : std::uint32_t { beat = 1, goodbye = 2, verdict = 3 };
constexpr std::size_t kKindAt = 4, kRankAt = 8, kFinderAt = 12, kStepAt = 16, kLengthAt = 24,
                      kReasonAt = 28;
constexpr std::size_t kReasonBytesMax = Presence::kMessageBytes - kReasonAt;

// A connection may break because its peer ended for another's sake: what it said about that has
// this long to arrive. Verdicts have as long to leave.
constexpr milliseconds kGrace{1000};
constexpr milliseconds kSlice{1};

void write(Presence::Message& message, Kind kind, const Cause& cause = {}) {
  const std::span<std::byte> bytes(message);
  const std::size_t length = std::min(cause.reason.size(), kReasonBytesMax);
  store_le(bytes, 0, kMagic);
  store_le(bytes, kKindAt, static_cast<std::uint32_t>(kind));
  store_le(bytes, kRankAt, static_cast<std::uint32_t>(cause.rank));
  store_le(bytes, kFinderAt, static_cast<std::uint32_t>(cause.finder));
  store_le(bytes, kStepAt, cause.step);
  store_le(bytes, kLengthAt, static_cast<std::uint32_t>(length));
  std::memcpy(message.data() + kReasonAt, cause.reason.data(), length);
}

Cause cause_in(const Presence::Message& message) {
  const std::span<const std::byte> bytes(message);
  const std::size_t length =
      std::min<std::size_t>(load_le<std::uint32_t>(bytes, kLengthAt), kReasonBytesMax);
  return {.rank = load_le<std::uint32_t>(bytes, kRankAt),
          .finder = load_le<std::uint32_t>(bytes, kFinderAt),
          .step = load_le<std::uint64_t>(bytes, kStepAt),
          .reason = {reinterpret_cast<const char*>(message.data()) + kReasonAt, length}};
}

std::string seconds_text(std::chrono::duration<double> time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", time.count());
  return text;
}

}  // namespace

Presence::Presence(Transport& transport, milliseconds peer_timeout)
    : transport_(transport),
      peer_timeout_(peer_timeout),
      interval_(std::clamp(peer_timeout / 8, milliseconds(1), milliseconds(1000))),
      slice_(std::clamp(interval_ / 4, milliseconds(1), milliseconds(20))),
      peers_(transport.size()),
      last_tick_(Clock::now()),
      next_beat_(last_tick_) {
  write(beat_, Kind::beat);
  write(goodbye_, Kind::goodbye);
  const Tag tag{.lane = Lane::presence};
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!is_other(rank)) continue;
    Peer& peer = peers_[rank];
    peer.beat = transport.sender(rank, tag, beat_);
    for (auto& goodbye : peer.goodbye) goodbye = transport.sender(rank, tag, goodbye_);
    peer.verdict = transport.sender(rank, tag, verdict_);
    peer.listen = transport.receiver(rank, tag, peer.in);
    peer.last_heard = last_tick_;
    peer.listen->start();
  }
}

// Has no peers of its own to listen to.
Presence::Presence(Presence& whole, std::vector<std::size_t> members)
    : whole_(&whole),
      members_(std::move(members)),
      transport_(whole.transport_),
      peer_timeout_(whole.peer_timeout_),
      interval_(whole.interval_),
      slice_(whole.slice_) {}

void Presence::heard(std::size_t peer) {
  if (whole_ != nullptr) return whole_->heard(members_[peer]);
  peers_[peer].last_heard = last_tick_;
}

void Presence::set_step(std::uint64_t step) {
  if (whole_ != nullptr) return whole_->set_step(step);
  step_ = step;
}

void Presence::tick() {
  if (whole_ != nullptr) return whole_->tick();
  const Clock::time_point now = Clock::now();
  if (now - last_tick_ < slice_ && now < next_beat_) return;
  come_by(now);
  listen();
  say_alive(now);
  check_peer_timeout(now);
}

// Who was away itself, stopped or asleep, has no right to call others silent.
void Presence::come_by(Clock::time_point now) {
  const Clock::duration time_away = now - last_tick_;
  last_tick_ = now;
  if (time_away <= peer_timeout_ / 2) return;
  for (Peer& peer : peers_) peer.last_heard = now;
  if (time_away <= peer_timeout_ - interval_) return;
  tick_gap_ = {.time = time_away, .end = now};
}

void Presence::say_alive(Clock::time_point now) {
  if (now < next_beat_) return;
  next_beat_ = now + interval_;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (!is_other(rank) || peer.is_gone) continue;
    try {
      if (peer.beat->done()) peer.beat->start(kMessageBytes);
    } catch (const PeerError& error) {
      broke(rank, error);
    }
  }
}

void Presence::listen() {
  for (std::size_t rank = 0; rank < peers_.size() && !told_; ++rank) {
    if (!is_other(rank)) continue;
    try {
      listen_to(rank);
    } catch (const PeerError& error) {
      broke(rank, error);
    }
  }
  if (told_) end(*told_);
}

void Presence::listen_to(std::size_t rank) {
  Peer& peer = peers_[rank];
  while (!peer.is_gone && !told_ && peer.listen->done()) {
    peer.last_heard = last_tick_;
    read(rank);
    peer.listen->start();
  }
}

// Who has said goodbye may go.
void Presence::broke(std::size_t rank, const PeerError& error) {
  if (!peers_[rank].has_left()) lose(error);
  peers_[rank].is_gone = true;
}

void Presence::read(std::size_t rank) {
  const std::span<const std::byte> message(peers_[rank].in);
  const auto kind = static_cast<Kind>(load_le<std::uint32_t>(message, kKindAt));
  if (load_le<std::uint32_t>(message, 0) != kMagic || kind < Kind::beat || kind > Kind::verdict) {
    told_ = Cause{.rank = rank,
                  .finder = transport_.rank(),
                  .step = step_,
                  .reason = "it sent a message that is not gradwire's: is it another program?"};
  } else if (kind == Kind::goodbye) {
    if (peers_[rank].goodbyes++ == 0) peers_[rank].left_at = last_tick_;
  } else if (kind == Kind::verdict) {
    told_ = cause_in(peers_[rank].in);
  }
}

void Presence::check_peer_timeout(Clock::time_point now) {
  std::size_t silent = peers_.size();  // the one that is silent for longest
  std::size_t others = 0, silent_count = 0;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const Peer& peer = peers_[rank];
    if (!is_other(rank) || peer.has_left()) continue;
    ++others;
    // Beats of ranks that fell silent together ended within two intervals.
    if (now - peer.last_heard <= peer_timeout_ - 2 * interval_) continue;
    ++silent_count;
    if (silent == peers_.size() || peer.last_heard < peers_[silent].last_heard) silent = rank;
  }
  if (silent_count == 0 || now - peers_[silent].last_heard <= peer_timeout_) return;
  std::string reason = "it fell silent: nothing was heard of it for " +
                       seconds_text(now - peers_[silent].last_heard);
  if (silent_count > 1 && silent_count == others) {
    reason += ", nor of any other rank: this rank itself may be cut off its network";
  }
  fail(silent, reason);
}

void Presence::await(Transfer& transfer) {
  if (whole_ != nullptr) return whole_->await(transfer);
  const Clock::time_point start = Clock::now();
  while (!transfer.wait_for(slice_)) {
    tick();
    check_left(start);
  }
  tick();
}

void Presence::await_any(Clock::time_point since, std::chrono::microseconds time) {
  if (whole_ != nullptr) return whole_->await_any(since, time);
  transport_.wait_for_any(std::min<std::chrono::microseconds>(time, slice_));
  tick();
  check_left(since);
}

// Who has said goodbye has sent all that it had to, so nothing is late because of it for long,
// unless it left too early.
void Presence::check_left(Clock::time_point waiting_since) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const Peer& peer = peers_[rank];
    if (!is_other(rank) || !peer.has_left()) continue;
    if (last_tick_ - std::max(waiting_since, peer.left_at) <= peer_timeout_) continue;
    fail(rank, "it has left, while others still wait for it: did it stop early?");
  }
}

void Presence::lose(const PeerError& error) {
  if (whole_ != nullptr) whole_->lose(error);
  const Clock::time_point now = Clock::now();
  const Clock::time_point until = now + std::min(kGrace, peer_timeout_);
  come_by(now);
  while (!told_ && Clock::now() < until) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (!is_other(rank)) continue;
      try {
        listen_to(rank);
      } catch (const PeerError&) {
        peers_[rank].is_gone = true;  // as far as listening goes
      }
    }
    std::this_thread::sleep_for(kSlice);
  }
  if (told_) end(*told_);
  if (now - tick_gap_.end <= peer_timeout_) {
    fail(transport_.rank(),
         "its peers gave it up, since it was itself away, stopped or asleep, for " +
             seconds_text(tick_gap_.time));
  }
  fail(error.rank(), error.what());
}

void Presence::fail(std::size_t rank, const std::string& reason) {
  if (whole_ != nullptr) whole_->fail(members_[rank], reason);
  end({.rank = rank, .finder = transport_.rank(), .step = step_, .reason = reason});
}

void Presence::end(const Cause& cause) {
  // Whoever fails again, as a communicator that goes after a failed comparison, was heard already.
  if (first_cause_) throw PeerError(describe(*first_cause_), first_cause_->rank);
  first_cause_ = cause;
  write(verdict_, Kind::verdict, cause);
  const auto tell = [this](const auto& act) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (!is_other(rank)) continue;
      try {
        act(*peers_[rank].verdict);
      } catch (const PeerError&) {  // it is gone, and needs no telling
      }
    }
  };
  const Clock::time_point until = Clock::now() + std::min(kGrace, peer_timeout_);
  tell([](Sender& verdict) { verdict.start(kMessageBytes); });
  tell([this, until](Sender& verdict) {
    while (!verdict.wait_for(kSlice) && Clock::now() < until) drain();
  });
  transport_.abandon();
  throw PeerError(describe(cause), cause.rank);
}

// Two that tell one another the same must not wait for one another to listen.
void Presence::drain() noexcept {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!is_other(rank)) continue;
    try {
      if (peers_[rank].listen->done()) peers_[rank].listen->start();
    } catch (const PeerError&) {
    }
  }
}

std::string Presence::describe(const Cause& cause) const {
  const auto who = [this](std::size_t rank) {
    return rank >= transport_.size()
               ? "an unknown rank"
               : "rank " + std::to_string(rank) + " (" + transport_.address(rank) + ')';
  };
  // Records and programs count steps from 1.
  return "lost " + who(cause.rank) + " at step " + std::to_string(cause.step + 1) + ": " +
         cause.reason +
         (cause.finder == transport_.rank() ? "" : "; found by " + who(cause.finder));
}

void Presence::leave() {
  if (whole_ != nullptr) return whole_->leave();
  say_goodbye(1);
  say_goodbye(2);
}

void Presence::say_goodbye(int times) {
  const Clock::time_point until = Clock::now() + peer_timeout_;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!is_other(rank) || peers_[rank].is_gone) continue;
    try {
      peers_[rank].goodbye[times - 1]->start(kMessageBytes);
    } catch (const PeerError& error) {
      broke(rank, error);
    }
  }
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!is_other(rank)) continue;
    Peer& peer = peers_[rank];
    try {
      // The first is waited for as long as the peer lives; the second is a courtesy.
      while (peer.goodbyes < times && !peer.is_gone && (times == 1 || Clock::now() < until)) {
        peer.listen->wait_for(slice_);
        listen();
        tick();
      }
      if (times == 1) continue;
      for (const auto& goodbye : peer.goodbye) {
        while (!peer.is_gone && Clock::now() < until && !goodbye->wait_for(slice_)) tick();
      }
    } catch (const PeerError& error) {
      if (first_cause_) throw;
      broke(rank, error);
    }
  }
}

}  // namespace gradwire
