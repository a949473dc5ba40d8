// Hub: the sockets of one process of an elastic run. It listens for connections and makes some, on
// threads of its own, since both take time; everything else happens in the owner's calls. Strangers
// are dropped by the hello, as with every port of a rank (docs/transports.md). For one thread,
// except wake().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/elastic/connection.h"
#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/tcp_hello.h"
#include "gradwire/transport/tcp_listener.h"
#include "gradwire/transport/tls_context.h"

namespace gradwire::elastic {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// "host:port", "[::1]:port". Throws UsageError.
HostPort parse_host_port(const std::string& text);

GroupKey key_of_run(std::uint64_t run_key);

// Connects and greets, with an end to the waiting. Nothing, and why, if that fails.
std::optional<Channel> open_channel(const std::string& address, const GroupKey& key,
                                    const std::shared_ptr<const TlsContext>& security,
                                    std::chrono::milliseconds time_max, std::string& reason);

class Hub {
 public:
  Hub(const std::string& listen, std::uint64_t run_key, std::shared_ptr<const TlsContext> security);
  // Waits for attempts to connect, a few seconds at most.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  std::uint16_t port() const { return listener_.port(); }

  // Tries once, unless an attempt for this address is under way.
  void connect(const std::string& address);

  // Connections that were made or accepted since the last call.
  std::vector<std::unique_ptr<Connection>> take_new();

  // Waits until one of the connections can be read or written, wake() is called or there are new
  // connections, but not longer than that.
  void wait(const std::vector<Connection*>& connections, std::chrono::milliseconds time);

  void wake() noexcept;  // any thread

  // Why the last attempts to connect failed, for messages.
  std::string last_failure() const;

 private:
  struct Attempt {
    std::string address;
    std::thread thread;
    bool is_done = false;
  };

  void accept();
  void add(Channel channel, Channel::Role role);

  const GroupKey key_;
  const std::shared_ptr<const TlsContext> security_;
  TcpListener listener_;
  Descriptor wake_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> new_;
  std::list<Attempt> attempts_;
  std::string last_failure_;
  std::atomic<bool> is_over_ = false;
  std::thread acceptor_;
};

}  // namespace gradwire::elastic
