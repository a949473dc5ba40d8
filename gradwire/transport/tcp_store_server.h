// Rank 0's side of the rendezvous by TCP: a thread that listens on a port and keeps the keys. It
// outlives no call: the destructor ends it at once. What connects and does not speak the protocol
// (tcp_store_format.h) is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/refusals.h"

namespace gradwire {

class TlsContext;

class TcpStoreServer {
 public:
  // Called once, by the thread, when it is known why a connection was refused.
  using OnRefusal = std::function<void(const std::string& reason)>;

  // Port 0: any that is free. With `security` all connections are encrypted. Listens on the numeric
  // address if this host has it, otherwise on all addresses. Throws StartError.
  explicit TcpStoreServer(std::uint16_t port, std::shared_ptr<const TlsContext> security = nullptr,
                          std::uint64_t run_key = 0, const std::string& address = {},
                          OnRefusal on_refusal = {});
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  std::uint16_t port() const { return port_; }

  // The connections that were dropped before they began as the protocol asks.
  Refusals refusals() const;

  // Ends the thread. Connections that have not begun by then are dropped, and are refusals, too.
  void close();

 private:
  Descriptor listener_;
  Descriptor stop_;  // an eventfd: readable when the thread shall end
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  Refusals refusals_;  // under the mutex
  std::thread thread_;
};

}  // namespace gradwire
