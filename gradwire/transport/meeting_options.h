// How the ranks of a group find one another: by files in a directory that all of them see, which
// must be empty at the start, or by a port on rank 0's host, where rank 0 listens for the others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace gradwire {

struct MeetingOptions {
  std::size_t rank = 0;
  std::size_t size = 1;

  std::string directory = {};    // if not empty: rendezvous by files
  std::string master_host = {};  // otherwise: rendezvous by TCP
  std::uint16_t master_port = 0;

  // A number that all ranks of the run know before they meet, and strangers do not. Whoever comes
  // to the rendezvous by TCP with another one is refused. 0: there is none.
  std::uint64_t run_key = 0;

  // The network interface to use, such as "eth0". Empty: the one that routes to master_host, or
  // loopback for a rendezvous by files.
  std::string interface = {};

  // Ranks that do not come within this time are named in a StartError.
  std::chrono::milliseconds start_time_max{60000};

  // Called while this rank still waits, by each of its ports once: with the reason why it has
  // refused a connection, such as another secret. It may have been a rank. Any thread calls it.
  std::function<void(const std::string& reason)> on_refusal = {};
};

}  // namespace gradwire
