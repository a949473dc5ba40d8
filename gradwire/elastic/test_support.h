// For tests: packets of every kind.
#pragma once

#include <vector>

#include "gradwire/elastic/packet.h"
#include "gradwire/membership/test_support.h"

namespace gradwire::elastic {

inline Bytes example_bytes(std::size_t count, std::uint8_t seed = 1) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

inline std::vector<Packet> example_packets() {
  std::vector<Packet> packets = {
      Introduce{membership::example_member(3)},
      Describe{},
      Description{example_bytes(20)},
      ViewData{4, 3, example_bytes(100)},
      FetchResult{4, 17, 2},
      Result{4, 17, 2, example_bytes(30)},
      AskModel{},
      AskModel{false, 12},
      KeepModel{18},
      Manifest{18, 5000, 4096, {{1, 2}, {3, 4}}},
      AskChunk{18, 1},
      Chunk{18, 1, example_bytes(904)},
      AskUpdates{19},
      Update{19, false, membership::example_view(4, 2), {example_bytes(8), example_bytes(9)}},
      Forgotten{18},
  };
  for (const membership::Message& message : membership::example_messages()) {
    packets.push_back(MessagePacket{message});
  }
  return packets;
}

}  // namespace gradwire::elastic
