// What every transport refuses of a caller: a peer that does not exist, a message longer than its
// memory, and a transfer that is started while it is under way. Pure functions that throw Error.
#pragma once

#include <cstddef>
#include <string>

#include "gradwire/core/error.h"

namespace gradwire {

inline void check_peer(std::size_t peer, std::size_t rank, std::size_t size) {
  if (peer < size && peer != rank) return;
  throw Error("rank " + std::to_string(rank) + " of " + std::to_string(size) +
              " cannot have a transfer with rank " + std::to_string(peer) +
              (peer == rank ? ": that is itself" : ": ranks are counted from 0"));
}

inline void check_message_bytes(std::size_t bytes, std::size_t memory_bytes) {
  if (bytes <= memory_bytes) return;
  throw Error("a sender was started with " + std::to_string(bytes) +
              " bytes, but was made for a memory of " + std::to_string(memory_bytes));
}

inline void check_can_start(bool is_under_way) {
  if (!is_under_way) return;
  throw Error("a transfer was started again while it was under way: wait until it is done()");
}

}  // namespace gradwire
