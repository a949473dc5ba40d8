#include "gradwire/collective/host_groups.h"

#include <algorithm>

#include "gradwire/collective/progress.h"

namespace gradwire {
namespace {

// Groups of one kind have no rank in common.
constexpr std::uint16_t kLocalGroup = 1;
constexpr std::uint16_t kPeerGroup = 2;

}  // namespace

std::unique_ptr<HostGroups> HostGroups::make(Communicator& whole,
                                             std::vector<std::size_t> host_of) {
  if (host_of.empty()) return nullptr;
  auto groups = std::make_unique<HostGroups>();
  groups->whole = &whole;
  groups->ranks_of.resize(std::ranges::max(host_of) + 1);
  groups->host = host_of[whole.rank()];
  std::vector<std::size_t> local;
  std::vector<std::size_t> place_of;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    place_of.push_back(groups->ranks_of[host_of[rank]]++);
    if (host_of[rank] == groups->host) local.push_back(rank);
  }
  groups->places = std::ranges::min(groups->ranks_of);
  groups->place = place_of[whole.rank()];
  groups->local.reset(new Communicator(whole, local, kLocalGroup));
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    if (place_of[rank] == groups->place) groups->peer_ranks.push_back(rank);
  }
  if (groups->place < groups->places) {
    groups->peers.reset(new Communicator(whole, groups->peer_ranks, kPeerGroup));
  }
  groups->host_of = std::move(host_of);
  return groups;
}

std::vector<std::string> HostGroups::tell(const std::string& what, const std::string& word) {
  std::vector<std::string> words;
  local->impl().call([&](PeerLinks& links) {
    words = links.agreement.compare({{"what a host agrees on", what}}, word);
  });
  return words;
}

std::shared_ptr<SharedMemory> HostGroups::share_memory(std::size_t bytes) {
  std::shared_ptr<SharedMemory> memory;
  std::string why_not, ticket;
  const auto attempt = [&why_not](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      why_not = error.what();
    }
  };
  if (place == 0) {
    attempt([&] {
      memory = SharedMemory::create(bytes);
      ticket = memory->ticket();
    });
  }
  std::vector<std::string> words = tell(std::to_string(bytes) + " bytes of memory", ticket);
  if (place != 0 && !words[0].empty()) attempt([&] { memory = SharedMemory::open(words[0]); });
  whole->impl().call([&](PeerLinks& links) {
    words = links.agreement.compare({{"the memory of hosts", "shared"}}, why_not);
  });
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    if (words[rank].empty()) continue;
    throw StartError("rank " + std::to_string(rank) + " (" + whole->address(rank) +
                     ") cannot share memory with the ranks of its host: " + words[rank]);
  }
  return memory;
}

float HostGroups::weight() const {
  return static_cast<float>(static_cast<double>(ranks_of[host] * hosts()) /
                            static_cast<double>(host_of.size()));
}

std::string HostGroups::text() const {
  std::string text = std::to_string(hosts()) + " hosts with ";
  if (std::ranges::count(ranks_of, ranks_of.front()) ==
      static_cast<std::ptrdiff_t>(ranks_of.size())) {
    return text + std::to_string(ranks_of.front()) + " ranks each";
  }
  for (std::size_t i = 0; i < ranks_of.size(); ++i) {
    if (i > 0) text += i + 1 == ranks_of.size() ? " and " : ", ";
    text += std::to_string(ranks_of[i]);
  }
  return text + " ranks";
}

}  // namespace gradwire
