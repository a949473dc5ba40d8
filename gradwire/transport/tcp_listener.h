// A port on which a rank waits for connections of its peers. Anybody may connect to it: strangers
// are dropped, they do not delay the peers, and their number and time are limited.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/refusals.h"
#include "gradwire/transport/tcp_hello.h"

namespace gradwire {

class TcpListener {
 public:
  using Clock = std::chrono::steady_clock;

  // Called once, when it is known why a connection was refused.
  using OnRefusal = std::function<void(const std::string& reason)>;

  // Listens on that port of the numeric address, or on a free one if it is 0. With `security` all
  // connections are encrypted. Throws StartError.
  explicit TcpListener(const std::string& address,
                       std::shared_ptr<const TlsContext> security = nullptr, std::uint16_t port = 0,
                       OnRefusal on_refusal = {});

  std::uint16_t port() const { return port_; }

  struct Guest {
    TcpHello hello;
    Channel channel;
  };

  // Waits until connections with the right hello are there, but not longer than that time. Takes
  // them in; the caller says welcome.
  std::vector<Guest> accept(const GroupKey& key, Clock::time_point until);

  // The connections that were dropped so far.
  const Refusals& refusals() const { return refusals_; }

  // Drops everybody who waits, too.
  void close();

 private:
  struct Waiting {
    Channel channel;
    Clock::time_point until;
    TcpHello::Bytes bytes{};
    std::size_t count = 0;
  };

  void wait(Clock::time_point until) const;
  void admit();
  static Channel::State read(Waiting& waiting);

  void refuse(Waiting& waiting);

  const std::shared_ptr<const TlsContext> security_;
  const OnRefusal on_refusal_;
  Descriptor socket_;
  std::uint16_t port_ = 0;
  std::list<Waiting> waiting_;  // oldest first
  Refusals refusals_;
};

}  // namespace gradwire
