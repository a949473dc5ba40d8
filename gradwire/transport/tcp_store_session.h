// One connection to the server of a TcpStore: takes requests and gives replies, without blocking.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/tcp_store_format.h"
#include "gradwire/transport/tls_reason.h"

namespace gradwire {

using StoreKeys = std::map<std::string, std::vector<std::byte>>;

class TcpStoreSession {
 public:
  using Clock = std::chrono::steady_clock;

  TcpStoreSession(Channel channel, std::uint64_t run_key);

  // For poll().
  int descriptor() const { return channel_.descriptor(); }
  short events() const;

  // When it wants to be looked at, if nothing comes.
  Clock::time_point deadline() const;

  // Whether it has begun as the protocol asks; until then it may be a stranger's.
  bool is_greeted() const { return greeted_; }
  // Why it was dropped before; may be empty.
  std::string refusal() const { return is_tls_ ? kPeerIsEncrypted : channel_.reason(); }

  // Does what can be done now, after poll() said these events. False: drop it.
  bool advance(short events, StoreKeys& keys);

 private:
  bool shake_hands();
  bool receive();
  bool send();
  bool greet();
  bool answer(StoreKeys& keys);
  bool answer_get(const StoreKeys& keys, const std::string& key, std::uint32_t wait_ms);
  void reply(StoreStatus status, std::span<const std::byte> value);

  // A request is looked at only when the reply to the one before is gone, so neither grows without
  // bound.
  Channel channel_;
  const StoreGreeting::Bytes greeting_;  // that is asked for
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  bool has_shaken_hands_ = false;
  bool greeted_ = false;
  bool is_tls_ = false;  // the peer's bytes, where there is no encryption here
  Clock::time_point greet_until_;
  std::optional<Clock::time_point> wait_until_;  // for a get whose key is not there
};

}  // namespace gradwire
