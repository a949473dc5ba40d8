// The links to all peers, watched by one epoll descriptor. Nothing happens in the background: links
// advance when poll() or wait_for_any() is called. For one thread, apart from wake().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gradwire/transport/descriptor.h"
#include "gradwire/transport/tcp_peer.h"

namespace gradwire {

class TcpMesh {
 public:
  TcpMesh();

  // A peer can be added and removed while others have messages under way. All transfers of a peer
  // are destroyed before it is removed.
  void add(std::unique_ptr<TcpPeer> peer);
  void remove(std::size_t rank);

  // The peer of that rank, which exists.
  TcpPeer& peer(std::size_t rank);

  // Reads and writes all that is possible now. If that is nothing, waits for something, but not
  // longer than `time`.
  void poll(std::chrono::microseconds time);

  // As in transport.h.
  void wait_for_any(std::chrono::microseconds time);
  void wake() noexcept;

  // Ends all connections.
  void close() noexcept;

 private:
  struct Watched {
    TcpPeer* peer;
    TcpLink* link;
    bool is_unfinished = false;
  };
  struct Place {
    std::unique_ptr<TcpPeer> peer;
    std::vector<Watched> watched;  // epoll has their addresses
  };

  void watch(int descriptor, std::uint32_t events, Watched* watched);
  void advance(Watched& watched, std::uint32_t events);
  std::uint64_t changes() const;

  Descriptor epoll_;
  Descriptor wake_;  // an eventfd, which epoll watches, too
  bool is_awake_ = false;
  std::uint64_t changes_seen_ = 0;    // by wait_for_any()
  std::vector<Place> places_;         // by rank
  std::size_t links_ = 0;             // of all peers
  std::vector<Watched*> unfinished_;  // they may have more to read
};

}  // namespace gradwire
