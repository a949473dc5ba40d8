#include "gradwire/elastic/packet.h"

#include "gradwire/core/bytes.h"
#include "gradwire/elastic/test_support.h"
#include "gtest/gtest.h"

namespace gradwire::elastic {
namespace {

std::span<const std::byte> body(const Bytes& bytes) {
  return std::span(bytes).subspan(kLengthBytes);
}

TEST(Packet, EveryKindComesBack) {
  for (const Packet& packet : example_packets()) {
    const Bytes bytes = to_bytes(packet);
    EXPECT_EQ(load_le<std::uint32_t>(bytes, 0), bytes.size() - kLengthBytes);
    const Decoded<Packet> parsed = parse_packet(body(bytes));
    ASSERT_TRUE(parsed.has_value()) << packet.index();
    EXPECT_TRUE(*parsed == packet) << packet.index();
  }
}

TEST(Packet, DataNeedNotBeCopiedIntoAPacketFirst) {
  const ViewData data{4, 3, example_bytes(100)};
  EXPECT_EQ(view_data_bytes(data.view, data.tag, data.bytes), to_bytes(data));
}

TEST(Packet, CutAndLongerBytesAreRefused) {
  for (const Packet& packet : example_packets()) {
    Bytes bytes = to_bytes(packet);
    for (std::size_t cut = 0; cut < body(bytes).size(); ++cut) {
      EXPECT_FALSE(parse_packet(body(bytes).first(cut)).has_value()) << packet.index();
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(parse_packet(body(bytes)).has_value()) << packet.index();
  }
}

TEST(Packet, AManifestHasAHashForEachChunk) {
  for (const Manifest& wrong : {Manifest{1, 5000, 4096, {{1, 2}}}, Manifest{1, 5000, 0, {}},
                                Manifest{1, std::uint64_t{1} << 60, 4096, {}}}) {
    EXPECT_FALSE(parse_packet(body(to_bytes(wrong))).has_value());
  }
}

}  // namespace
}  // namespace gradwire::elastic
