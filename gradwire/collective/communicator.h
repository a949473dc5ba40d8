// Communicator: one rank's place among its peers. Owns the transport and the one progress thread,
// which alone touches it: exchanges run there in the order in which they were started, and between
// them it keeps telling the peers that this rank lives, however busy the caller is.
//
// A peer that dies, falls silent or sends what it should not ends the communicator on every rank:
// what is under way and whatever is started later throws PeerError, naming the first cause.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gradwire/transport/transport.h"

namespace gradwire {

struct CommunicatorOptions {
  std::uint64_t run = 0;  // written into every frame: frames of another run are refused
  std::chrono::milliseconds peer_timeout{60000};  // a peer silent for longer is given up
};

class Communicator {
 public:
  // Compares version and run with all peers. Throws StartError.
  Communicator(std::unique_ptr<Transport> transport, const CommunicatorOptions& options);

  // Without close() before it, the peers are told that this rank gave up.
  ~Communicator();

  std::size_t rank() const;
  std::size_t size() const;
  std::uint64_t run() const;
  const char* transport_name() const;
  std::string address(std::size_t rank) const;

  // The transport's own sum of floats, as a yardstick.
  void allreduce(std::span<float> values);

  // Waits until all ranks are here.
  void barrier();

  // The orderly end: waits until all ranks close. Afterwards nothing can be started.
  void close();

  class Impl;
  Impl& impl() { return *impl_; }  // for exchanges

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gradwire
