// Packets between members of an elastic run: any bytes are a packet, and the very bytes that are
// written for it, or are refused with a reason. Donors and newcomers survive every packet.
#include <algorithm>
#include <cstring>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/elastic/donor.h"
#include "gradwire/elastic/fetcher.h"
#include "gradwire/elastic/packet.h"

namespace gradwire::fuzz {

using namespace elastic;

void test_input(std::span<const std::byte> input) {
  const Decoded<Packet> packet = parse_packet(input);
  if (!packet) {
    GW_CHECK(std::strlen(packet.error().what) > 0);
    GW_CHECK(packet.error().byte_offset <= input.size());
    return;
  }
  const Bytes written = to_bytes(*packet);
  GW_CHECK(std::ranges::equal(std::span(written).subspan(kLengthBytes), input));

  Donor donor({.chunk_bytes = 16});
  donor.add_model(18, Bytes(100), Time(0));
  Fetcher fetcher;
  const MemberId from{0, 1};
  const SendBytes nowhere = [](const MemberId&, Bytes) {};
  if (const auto* ask = std::get_if<AskChunk>(&*packet)) {
    donor.on_ask_chunk(from, *ask, Time(1), nowhere);
  } else if (const auto* updates = std::get_if<AskUpdates>(&*packet)) {
    donor.on_ask_updates(from, *updates, Time(1));
  } else if (const auto* update = std::get_if<Update>(&*packet)) {
    donor.add_update(std::make_shared<const Update>(*update), Time(1));
    fetcher.on_update(*update, Time(1));
  } else if (const auto* manifest = std::get_if<Manifest>(&*packet)) {
    fetcher.on_manifest(from, *manifest);
    fetcher.on_chunk(from, Chunk{manifest->step, 0, Bytes(100)});
  } else if (const auto* chunk = std::get_if<Chunk>(&*packet)) {
    fetcher.on_manifest(from, *donor.manifest_of(18));
    fetcher.on_chunk(from, *chunk);
  }
  donor.serve(20, Time(2), nowhere);
  fetcher.tick({from}, Time(2), nowhere);
  fetcher.take_state();
}

}  // namespace gradwire::fuzz
