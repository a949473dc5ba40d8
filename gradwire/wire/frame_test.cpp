#include "gradwire/wire/frame.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gradwire/core/bytes.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kChecksumAt = 72;

// Every field has a value of its own that fills all its bytes.
FrameHeader some_header() {
  return {
      .run = 0x0102030405060708,
      .step = 0x1112131415161718,
      .exchange = 0x21222324,
      .sender = 0x31323334,
      .direction = Direction::hop,
      .poison = true,
      .repeat = false,
      .codec_fingerprint = 0x4142434445464748,
      .first_element = 0x5152535455565758,
      .element_count = 0x6162636465666768,
  };
}

std::vector<std::byte> some_payload(std::size_t bytes) {
  std::mt19937 random(3);
  std::vector<std::byte> payload(bytes);
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
  return payload;
}

std::vector<std::byte> frame_bytes(const FrameHeader& header, std::span<const std::byte> payload) {
  std::vector<std::byte> bytes(kFrameHeaderBytes);
  write_frame_header(header, payload, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// Makes altered header fields a sound frame again, as a peer with a bug would send it.
void renew_checksum(std::span<std::byte> bytes) {
  const std::uint64_t header_checksum = checksum(bytes.first(kChecksumAt));
  store_le(bytes, kChecksumAt, checksum(bytes.subspan(kFrameHeaderBytes), header_checksum));
}

void expect_refused(std::span<const std::byte> bytes, std::size_t byte_offset,
                    std::string_view what) {
  const Decoded<Frame> frame = parse_frame(bytes);
  ASSERT_FALSE(frame) << what;
  EXPECT_EQ(frame.error().byte_offset, byte_offset) << frame.error().what;
  EXPECT_EQ(frame.error().what, what);
}

TEST(Frame, EveryFieldAndThePayloadSurvive) {
  for (const std::size_t payload_bytes : {0, 1, 16, 17, 128, 240, 241, 100'000}) {
    const std::vector<std::byte> payload = some_payload(payload_bytes);
    const std::vector<std::byte> bytes = frame_bytes(some_header(), payload);
    const Decoded<Frame> frame = parse_frame(bytes);
    ASSERT_TRUE(frame) << frame.error().what;
    EXPECT_EQ(frame->header, some_header());
    EXPECT_TRUE(
        std::equal(payload.begin(), payload.end(), frame->payload.begin(), frame->payload.end()));
    EXPECT_EQ(frame->bytes(), bytes.size());
    EXPECT_EQ(frame->checksum, load_le<std::uint64_t>(bytes, kChecksumAt));
  }
}

TEST(Frame, EveryDirectionAndFlagSurvives) {
  for (const Direction direction : {Direction::up, Direction::down, Direction::hop}) {
    for (const bool poison : {false, true}) {
      for (const bool repeat : {false, true}) {
        FrameHeader header = some_header();
        header.direction = direction;
        header.poison = poison;
        header.repeat = repeat;
        const Decoded<Frame> frame = parse_frame(frame_bytes(header, {}));
        ASSERT_TRUE(frame);
        EXPECT_EQ(frame->header, header);
      }
    }
  }
}

TEST(Frame, BytesBehindItAreLeftToTheCaller) {
  std::vector<std::byte> bytes = frame_bytes(some_header(), some_payload(5));
  const std::size_t frame_end = bytes.size();
  bytes.resize(frame_end + 33, std::byte{0xaa});
  const Decoded<Frame> frame = parse_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->bytes(), frame_end);
}

TEST(Frame, EverySingleAlteredByteIsRefused) {
  std::vector<std::byte> bytes = frame_bytes(some_header(), some_payload(50));
  for (std::byte& byte : bytes) {
    const std::byte original = byte;
    for (int altered = 0; altered < 256; ++altered) {
      byte = static_cast<std::byte>(altered);
      ASSERT_EQ(parse_frame(bytes).has_value(), byte == original);
    }
    byte = original;
  }
}

TEST(Frame, EveryTruncationIsRefusedWhereTheBytesEnd) {
  const std::vector<std::byte> bytes = frame_bytes(some_header(), some_payload(50));
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    expect_refused(std::span(bytes).first(kept), kept,
                   kept < kFrameHeaderBytes ? "the bytes end within a frame's header"
                                            : "the bytes end within a frame's payload");
  }
}

// The checksum is right in all of these: the field alone is the reason.
TEST(Frame, FieldsOutOfTheirRangeAreRefusedByName) {
  const std::vector<std::byte> sound = frame_bytes(some_header(), some_payload(8));
  const auto expect_refused_with = [&](std::size_t at, auto value, std::string_view what) {
    std::vector<std::byte> bytes = sound;
    store_le(std::span(bytes), at, value);
    renew_checksum(bytes);
    expect_refused(bytes, at, what);
  };
  expect_refused_with(0, std::uint32_t{0}, "no frame: its magic number is missing");
  for (const int version : {0, 2, 0xffff}) {
    expect_refused_with(4, static_cast<std::uint16_t>(version), "frame of an unknown version");
  }
  for (int bit = 2; bit < 16; ++bit) {
    expect_refused_with(6, static_cast<std::uint16_t>(1 << bit), "frame with an unknown flag");
  }
  for (const int direction : {0, 4, 0xffff}) {
    expect_refused_with(32, static_cast<std::uint16_t>(direction),
                        "frame with an unknown direction");
  }
  expect_refused_with(34, std::uint16_t{1}, "frame with a reserved field in use");
  expect_refused_with(36, std::uint32_t{1}, "frame with a reserved field in use");
  expect_refused_with(56, kMax64, "frame of more elements than can be counted");
}

TEST(Frame, LengthsBeyondTheBytesAreRefusedHoweverLarge) {
  const std::vector<std::byte> sound = frame_bytes(some_header(), some_payload(8));
  for (const std::uint64_t length : {std::uint64_t{9}, kMax64 - 79, kMax64 - 80, kMax64}) {
    std::vector<std::byte> bytes = sound;
    store_le(std::span(bytes), 64, length);
    renew_checksum(bytes);
    expect_refused(bytes, bytes.size(), "the bytes end within a frame's payload");
  }
}

TEST(Frame, RepeatHasNoPayload) {
  std::vector<std::byte> bytes = frame_bytes(some_header(), some_payload(8));
  store_le(std::span(bytes), 6, std::uint16_t{2});
  renew_checksum(bytes);
  expect_refused(bytes, 64, "repeat frame with a payload");
}

TEST(Frame, ElementsUpToTheLastThatCanBeCountedAreAccepted) {
  FrameHeader header = some_header();
  header.first_element = kMax64 - 7;
  header.element_count = 7;
  EXPECT_TRUE(parse_frame(frame_bytes(header, {})));
}

TEST(Frame, RandomBytesNeverPass) {
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = frame_bytes(some_header(), some_payload(random() % 40));
    // From nearly sound to nothing but noise.
    const std::size_t altered = 1 + random() % bytes.size();
    for (std::size_t i = 0; i < altered; ++i) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
    }
    bytes.resize(random() % 2 == 0 ? bytes.size() : random() % bytes.size());
    const Decoded<Frame> frame = parse_frame(bytes);
    if (frame) {
      ASSERT_EQ(frame->header, some_header()) << "alterations may undo one another, only";
    } else {
      ASSERT_LE(frame.error().byte_offset, bytes.size());
    }
  }
}

TEST(Verify, AcceptsWhatIsExpectedAndWhateverIsNotAskedFor) {
  const FrameHeader header = some_header();
  EXPECT_TRUE(verify(header, {}));
  EXPECT_TRUE(verify(header, {.run = header.run,
                              .step = header.step,
                              .exchange = header.exchange,
                              .sender = header.sender,
                              .direction = header.direction,
                              .codec_fingerprint = header.codec_fingerprint,
                              .first_element = header.first_element,
                              .element_count = header.element_count}));
}

TEST(Verify, NamesTheFieldThatDiffersAndItsPlace) {
  const struct {
    FrameExpectation expected;
    std::string_view what;
    std::size_t byte_offset;
  } cases[] = {
      {{.run = 1}, "frame of another run", 8},
      {{.step = 1}, "frame of another step", 16},
      {{.exchange = 1}, "frame of another exchange", 24},
      {{.sender = 1}, "frame of another sender", 28},
      {{.direction = Direction::up}, "frame of another direction", 32},
      {{.codec_fingerprint = 1}, "frame of another codec", 40},
      {{.first_element = 1}, "frame that starts at another element", 48},
      {{.element_count = 1}, "frame of another number of elements", 56},
  };
  for (const auto& [expected, what, byte_offset] : cases) {
    const Decoded<void> verified = verify(some_header(), expected);
    ASSERT_FALSE(verified) << what;
    EXPECT_EQ(verified.error().what, what);
    EXPECT_EQ(verified.error().byte_offset, byte_offset);
  }
}

TEST(Fingerprint, TellsSpecsApartAndIsXxh3) {
  EXPECT_NE(fingerprint("natural"), fingerprint("none"));
  // XXH3's own value for no bytes and seed 0.
  EXPECT_EQ(fingerprint(""), 0x2d06800538d394c2u);
}

TEST(Frame, WorkedExampleOfTheSpecification) {
  // docs/wire_format.md, "A worked example": change both or neither.
  const std::array<std::byte, 8> payload = {
      std::byte{0x00}, std::byte{0x00}, std::byte{0x80}, std::byte{0x3f},   // 1.0f
      std::byte{0x00}, std::byte{0x00}, std::byte{0x20}, std::byte{0xc0}};  // -2.5f
  const FrameHeader header = {.run = 0x0123456789abcdef,
                              .step = 300,
                              .exchange = 7,
                              .sender = 2,
                              .direction = Direction::up,
                              .codec_fingerprint = fingerprint("none"),
                              .first_element = 1024,
                              .element_count = 2};
  std::string hex;
  for (const std::byte byte : frame_bytes(header, payload)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  EXPECT_EQ(hex,
            "4757463101000000efcdab8967452301"
            "2c010000000000000700000002000000"
            "01000000000000004e06c5af83b45633"
            "00040000000000000200000000000000"
            "08000000000000004420fa7066ac2ef0"
            "0000803f000020c0");
}

TEST(Frame, PartsGiveTheSameFrameAsTheWhole) {
  for (const std::size_t bytes : {0u, 1u, 240u, 5000u, 300'000u}) {
    const auto payload = some_payload(bytes);
    const auto whole = frame_bytes(some_header(), payload);
    for (const std::size_t cut : {std::size_t{0}, bytes / 3, bytes}) {
      std::vector<std::byte> header(kFrameHeaderBytes);
      write_frame_fields(some_header(), bytes, header);
      FrameChecksum sum(header);
      sum.add(std::span(payload).first(cut));
      sum.add(std::span(payload).subspan(cut));
      sum.write(header);
      EXPECT_TRUE(std::equal(header.begin(), header.end(), whole.begin())) << bytes;
      EXPECT_TRUE(sum.check(header));
      const Decoded<FrameFields> fields = parse_frame_fields(header);
      ASSERT_TRUE(fields);
      EXPECT_EQ(fields->header, some_header());
      EXPECT_EQ(fields->payload_bytes, bytes);
      if (bytes == 0) continue;
      FrameChecksum damaged(header);
      damaged.add(std::span(payload).first(bytes - 1));
      EXPECT_FALSE(damaged.check(header));
    }
  }
}

}  // namespace
}  // namespace gradwire
