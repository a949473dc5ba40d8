#include "gradwire/transport/meeting.h"

#include <algorithm>
#include <optional>

#include "gradwire/transport/file_store.h"
#include "gradwire/transport/route.h"
#include "gradwire/transport/tcp_store.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

std::string hello_key(std::size_t rank) { return "hello/" + std::to_string(rank); }
std::string bye_key(std::size_t rank) { return "bye/" + std::to_string(rank); }

// "rank 3", "ranks 1 and 3", "ranks 1, 2 and 3".
std::string name_ranks(const std::vector<std::size_t>& ranks) {
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) names += i + 1 == ranks.size() ? " and " : ", ";
    names += std::to_string(ranks[i]);
  }
  return names;
}

// Those from `first` on whose key is not there at this moment.
std::vector<std::size_t> missing_ranks(StartStore& store, std::size_t first, std::size_t size) {
  std::vector<std::size_t> ranks = {first};
  for (std::size_t rank = first + 1; rank < size; ++rank) {
    if (!store.get_until(hello_key(rank), {})) ranks.push_back(rank);
  }
  return ranks;
}

[[noreturn]] void fail_missing(const std::vector<std::size_t>& ranks, const StartStore& store,
                               const std::string& place, const std::string& more) {
  const bool one = ranks.size() == 1;
  throw StartError(name_ranks(ranks) + (one ? " has" : " have") + " not come within " +
                   in_words(store.time_max()) + (one ? ": is it" : ": are they") +
                   " started, and can " + (one ? "it" : "they") + " reach " + place + "?" + more);
}

std::vector<char> wait_for_hello(StartStore& store, std::size_t rank, std::size_t size,
                                 const std::string& place) {
  std::optional<std::vector<char>> bytes;
  try {
    bytes = store.get_until(hello_key(rank), store.deadline());
    if (!bytes) fail_missing(missing_ranks(store, rank, size), store, place, "");
  } catch (const StartError& error) {
    // Rank 0 may lose its patience, and with it the store, a moment before this rank does.
    if (std::string(error.what()).find("not come") != std::string::npos) throw;
    fail_missing({rank}, store, place, std::string(" (") + error.what() + ")");
  }
  return *std::move(bytes);
}

void check_same(const char* what, std::size_t rank, std::size_t own, std::size_t other,
                std::size_t theirs) {
  if (own == theirs) return;
  throw StartError("rank " + std::to_string(other) + " says that there are " +
                   std::to_string(theirs) + " " + what + ", and rank " + std::to_string(rank) +
                   " that there are " + std::to_string(own));
}

void check_reachable(const std::vector<RankInfo>& infos) {
  for (std::size_t rank = 0; rank < infos.size(); ++rank) {
    for (std::size_t other = 0; other < infos.size(); ++other) {
      if (!is_loopback(infos[rank].address) || is_loopback(infos[other].address)) continue;
      throw StartError("rank " + std::to_string(rank) + " listens on " + infos[rank].address +
                       ", which rank " + std::to_string(other) + " at " + infos[other].address +
                       " cannot reach: give MASTER_ADDR as an address that all hosts can reach, "
                       "or name the interface");
    }
  }
}

// Rank 0 takes the same way as all others, which shows whether it is the one that they look for.
std::unique_ptr<StartStore> reach_own_server(const MeetingOptions& options,
                                             const std::string& place,
                                             const std::shared_ptr<const TlsContext>& security) {
  constexpr std::chrono::milliseconds kTimeMax{5000};
  try {
    TcpStore(options.master_host, options.master_port, std::min(kTimeMax, options.start_time_max),
             security, options.run_key);
  } catch (const StartError&) {
    throw StartError("rank 0 listens on this host, but " + place +
                     " does not lead here: is MASTER_ADDR the address of rank 0's host?");
  }
  return std::make_unique<TcpStore>(options.master_host, options.master_port,
                                    options.start_time_max, security, options.run_key);
}

// A name may stand for another address on other hosts: Debian maps a host's own name to 127.0.1.1.
// Only an address, and "localhost", mean the same everywhere.
std::string listening_address(const MeetingOptions& options) {
  const std::string& host = options.master_host;
  return host == "localhost" || is_address(host) ? host : "";
}

}  // namespace

void check_meeting(const MeetingOptions& options) {
  if (options.rank >= options.size) {
    throw StartError("there is no rank " + std::to_string(options.rank) + " of " +
                     std::to_string(options.size));
  }
  if (options.size > 1 && options.directory.empty() && options.master_host.empty()) {
    throw StartError("ranks cannot find one another: there is neither a directory nor a host");
  }
}

Rendezvous open_rendezvous(const MeetingOptions& options,
                           const std::shared_ptr<const TlsContext>& security) {
  Rendezvous result;
  if (!options.directory.empty()) {
    result.store = std::make_unique<FileStore>(options.directory, options.start_time_max);
    result.place = options.directory;
    return result;
  }
  result.place = options.master_host + ":" + std::to_string(options.master_port);
  if (options.rank == 0) {
    result.server =
        std::make_unique<TcpStoreServer>(options.master_port, security, options.run_key,
                                         listening_address(options), options.on_refusal);
    result.store = reach_own_server(options, result.place, security);
  } else {
    result.store = std::make_unique<TcpStore>(options.master_host, options.master_port,
                                              options.start_time_max, security, options.run_key);
  }
  return result;
}

std::vector<RankInfo> meet(StartStore& store, std::size_t rank, const RankInfo& self,
                           const std::string& place) {
  if (!store.add(hello_key(rank), write_rank_info(self))) {
    throw StartError("two processes say they are rank " + std::to_string(rank) + ", or " + place +
                     " is left over from an earlier run");
  }
  std::vector<RankInfo> infos(self.size);
  for (std::size_t other = 0; other < self.size; ++other) {
    const auto info = read_rank_info(wait_for_hello(store, other, self.size, place));
    if (!info) {
      throw StartError("rank " + std::to_string(other) + " is not of this version of gradwire");
    }
    check_same("ranks", rank, self.size, other, info->size);
    check_same("streams", rank, self.streams, other, info->streams);
    infos[other] = *info;
  }
  check_reachable(infos);
  return infos;
}

void part(StartStore& store, std::size_t rank, std::size_t size) {
  store.add(bye_key(rank), {'.'});
  if (rank != 0) return;
  for (std::size_t other = 1; other < size; ++other) {
    if (store.get_until(bye_key(other), store.deadline())) continue;
    throw StartError("rank " + std::to_string(other) +
                     " has come, but not connected to all within " + in_words(store.time_max()));
  }
}

}  // namespace gradwire
