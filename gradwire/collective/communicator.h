// Communicator: connects one rank with its peers. It owns the transport and the progress thread,
// the only thread that uses the transport. Exchanges run on that thread, in the order of their
// starts. Between exchanges it sends signs of life to the peers, however busy the caller is.
//
// If a peer dies, stops answering or sends wrong frames, the communicator ends on all ranks: all
// running and later calls throw PeerError, which names the first cause. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gradwire/collective/owner_shares.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

struct CommunicatorOptions {
  std::uint64_t run = 0;  // written into every frame: frames of another run are refused
  std::chrono::milliseconds peer_timeout{60000};  // a peer that sends nothing for longer is lost

  // Threads that encode and decode, the progress thread among them. 0: the cores of this host,
  // divided among the ranks on it. Results do not depend on it, and ranks may differ in it.
  std::size_t codec_threads = 0;

  // The rate of this rank's own link. If all ranks give one, exchanges with the topology scatter
  // cut their chunks accordingly (owner_shares), so that all links finish together.
  std::optional<LinkRate> link = {};
};

class Communicator {
 public:
  // Compares version and run with all peers. Throws StartError.
  Communicator(std::unique_ptr<Transport> transport, const CommunicatorOptions& options);

  // Without a close() before it, the peers see a failure of this rank.
  ~Communicator();

  std::size_t rank() const;
  std::size_t size() const;
  std::uint64_t run() const;
  const char* transport_name() const;
  std::string address(std::size_t rank) const;
  std::size_t codec_threads() const;
  std::span<const LinkRate> links() const;  // by rank; empty unless all ranks gave a rate
  std::size_t refused_connections() const;  // as the transport counts them

  // The transport's own sum of floats, the baseline of benchmarks.
  void allreduce(std::span<float> values);

  // Waits until all ranks have called it.
  void barrier();

  // The orderly end: waits until all ranks call it. Later calls throw Error.
  void close();

  class Impl;
  Impl& impl() { return *impl_; }  // for exchanges

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gradwire
