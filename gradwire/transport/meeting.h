// The ranks come together: each says in a start store who it is, and waits for all the others.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/transport/meeting_options.h"
#include "gradwire/transport/rank_info.h"
#include "gradwire/transport/start_store.h"
#include "gradwire/transport/tcp_store_server.h"

namespace gradwire {

// Throws StartError for a rank that cannot be, and for ranks that have nowhere to meet.
void check_meeting(const MeetingOptions& options);

// Where ranks meet, with the server of it on rank 0.
struct Rendezvous {
  std::unique_ptr<TcpStoreServer> server;
  std::unique_ptr<StartStore> store;
  std::string place;  // for messages
};

// With `security` a rendezvous by TCP is encrypted. Throws StartError.
Rendezvous open_rendezvous(const MeetingOptions& options,
                           const std::shared_ptr<const TlsContext>& security = nullptr);

// Returns what every rank says of itself. Throws StartError that names ranks which do not come, are
// there twice, or count differently. `place` is where they meet, for that message.
std::vector<RankInfo> meet(StartStore& store, std::size_t rank, const RankInfo& self,
                           const std::string& place);

// To be called when this rank needs the store no more. Rank 0, which may keep it, waits for the
// others.
void part(StartStore& store, std::size_t rank, std::size_t size);

}  // namespace gradwire
