// HostGroups: the two levels of a communicator whose hosts have several ranks. The ranks of a host
// are one group. The host's sum is cut into parts, as many as the host with the fewest ranks has
// ranks, and the ranks that hold the same part on all hosts are another group. Groups send over the
// transport of all, on its progress thread, and a rank that is lost is lost to all groups.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/transport/shared_memory.h"

namespace gradwire {

struct HostGroups {
  // `host_of` has the host of every rank; empty: null. All ranks call it with the same.
  static std::unique_ptr<HostGroups> make(Communicator& whole, std::vector<std::size_t> host_of);

  std::size_t hosts() const { return ranks_of.size(); }
  // Every rank of this host tells the others a word. Returns the words, by place. `what` must be
  // the same on all of them; throws StartError.
  std::vector<std::string> tell(const std::string& what, const std::string& word);

  // Memory that the ranks of this host have in common, zeros. All ranks of all hosts call it.
  // Throws StartError, on all of them, if the ranks of some host cannot share memory.
  std::shared_ptr<SharedMemory> share_memory(std::size_t bytes);

  // The ranks of a host add up, and this is its own share of all ranks times the number of hosts.
  float weight() const;
  // "2 hosts with 4 ranks each", "3 hosts with 1, 2 and 2 ranks".
  std::string text() const;

  std::vector<std::size_t> host_of;   // by rank
  std::vector<std::size_t> ranks_of;  // by host: how many
  std::size_t host = 0;               // of this rank
  std::size_t place = 0;              // of this rank among those of its host
  std::size_t places = 1;             // that hold a part

  std::vector<std::size_t> peer_ranks;  // of the group of peers: its ranks in the whole
  Communicator* whole = nullptr;
  std::unique_ptr<Communicator> local;  // the ranks of this host, by place
  std::unique_ptr<Communicator> peers;  // the same place of all hosts; null without a part
};

}  // namespace gradwire
