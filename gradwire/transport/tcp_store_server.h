// Rank 0's side of the rendezvous by TCP: a thread that listens on a port of all addresses and
// keeps the keys. It outlives no call: the destructor ends it at once. What connects and does not
// speak the protocol (tcp_store_format.h) is dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "gradwire/transport/descriptor.h"

namespace gradwire {

class TcpStoreServer {
 public:
  // Port 0: any that is free. Throws StartError.
  explicit TcpStoreServer(std::uint16_t port);
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  Descriptor listener_;
  Descriptor stop_;  // an eventfd: readable when the thread shall end
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace gradwire
