// Communicator: connects one rank with its peers. It owns the transport and the progress thread,
// the only thread that uses the transport. Exchanges run on it, several at a time; the one that was
// started first goes first. It sends signs of life to the peers, however busy the caller is.
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
#include <vector>

#include "gradwire/collective/host_choice.h"
#include "gradwire/collective/owner_shares.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

struct CommunicatorOptions {
  std::uint64_t run = 0;  // written into every frame: frames of another run are refused
  std::chrono::milliseconds peer_timeout{60000};  // a peer that sends nothing for longer is lost

  // Threads that encode and decode, the progress thread among them. 0: the cores of this host,
  // divided among the ranks on it. Results do not depend on it, and ranks may differ in it.
  std::size_t codec_threads = 0;

  // Which ranks share a host. With several on some host, methods have two levels: the ranks of a
  // host add up their gradients in shared memory, and hosts exchange the sums (docs/exchange.md).
  HostChoice hosts = {};

  // The rate of this rank's own link. If all ranks give one, exchanges with the topology scatter
  // cut their chunks accordingly (owner_shares), so that all links finish together.
  std::optional<LinkRate> link = {};
};

struct HostGroups;  // collective/host_groups.h

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
  HostGroups* hosts();  // null unless hosts have several ranks, and CommunicatorOptions asks

  // The transport's own sum of floats, the baseline of benchmarks.
  void allreduce(std::span<float> values);

  // Waits until all ranks have called it.
  void barrier();

  // The orderly end: waits until all ranks call it. Later calls throw Error.
  void close();

  class Impl;
  Impl& impl() { return *impl_; }  // for exchanges

 private:
  friend struct HostGroups;
  // Some of the ranks of `whole`, which must outlive it. Its own calls fail when those of the whole
  // do, with the same errors: they name ranks of the whole.
  Communicator(Communicator& whole, const std::vector<std::size_t>& members, std::uint16_t group);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gradwire
