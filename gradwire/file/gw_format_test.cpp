#include "gradwire/file/gw_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "gradwire/file/tensor.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Shape = std::vector<std::uint64_t>;

// Two frames of 4 and 2 elements, and payloads that are text: what is in them is the codec's
// matter.
constexpr std::string_view kPayloads[] = {"first payload", "second"};

GwHeader some_header() {
  return {.spec = "none", .shape = Shape{2, 3}, .element_count = 6, .frame_count = 2, .seed = 9};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string frame_of(const FrameHeader& header, std::string_view payload) {
  std::vector<std::byte> bytes(kFrameHeaderBytes);
  write_frame_header(header, bytes_of(payload), bytes);
  return text_of(bytes) + std::string(payload);
}

std::string some_file() {
  const std::uint64_t none = fingerprint("none");
  return text_of(gw_header_bytes(some_header())) +
         frame_of({.codec_fingerprint = none, .element_count = 4}, kPayloads[0]) +
         frame_of({.exchange = 1,
                   .poison = true,
                   .codec_fingerprint = none,
                   .first_element = 4,
                   .element_count = 2},
                  kPayloads[1]);
}

constexpr std::size_t kHeaderBytes = 48 + 4 + 2 * 8 + 8;
constexpr std::size_t kFramesAt[] = {kHeaderBytes,
                                     kHeaderBytes + kFrameHeaderBytes + kPayloads[0].size()};

template <class T>
void store(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// Make altered headers sound again, as a writer with a bug or ill will would leave them.
void renew_file_checksum(std::string& bytes) {
  constexpr std::size_t kChecksumAt = kHeaderBytes - sizeof(std::uint64_t);
  store(bytes, kChecksumAt, checksum(bytes_of(bytes).first(kChecksumAt)));
}

void renew_frame_checksum(std::string& bytes, std::size_t frame) {
  const std::span<const std::byte> tail = bytes_of(bytes).subspan(kFramesAt[frame]);
  const std::span<const std::byte> payload =
      tail.subspan(kFrameHeaderBytes, kPayloads[frame].size());
  store(bytes, kFramesAt[frame] + 72, checksum(payload, checksum(tail.first(72))));
}

void expect_gw_refused(std::string_view bytes, std::size_t byte_offset, std::string_view what) {
  const Decoded<GwView> view = parse_gw(bytes_of(bytes));
  ASSERT_FALSE(view) << what;
  EXPECT_EQ(view.error().what, what);
  EXPECT_EQ(view.error().byte_offset, byte_offset) << what;
}

TEST(GwFormat, EverythingThatIsWrittenIsRead) {
  const std::string bytes = some_file();
  const Decoded<GwView> view = parse_gw(bytes_of(bytes));
  ASSERT_TRUE(view) << view.error().what;
  EXPECT_EQ(view->header.spec, "none");
  EXPECT_EQ(view->header.shape, (Shape{2, 3}));
  EXPECT_EQ(view->header.element_count, 6u);
  EXPECT_EQ(view->header.frame_count, 2u);
  EXPECT_EQ(view->header.seed, 9u);
  EXPECT_EQ(view->header_bytes, kHeaderBytes);
  ASSERT_EQ(view->frames.size(), 2u);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(view->frames[i].byte_offset, kFramesAt[i]);
    EXPECT_EQ(text_of(view->frames[i].frame.payload), kPayloads[i]);
  }
  EXPECT_FALSE(view->frames[0].frame.header.poison);
  EXPECT_TRUE(view->frames[1].frame.header.poison);
  EXPECT_EQ(view->frames[1].frame.header.first_element, 4u);
}

TEST(GwFormat, NoShapeIsNotTheShapeOfASingleValue) {
  for (const std::optional<Shape>& shape :
       {std::optional<Shape>(), std::optional<Shape>(Shape{}), std::optional<Shape>(Shape{1, 1})}) {
    const std::string bytes =
        text_of(gw_header_bytes(
            {.spec = "none", .shape = shape, .element_count = 1, .frame_count = 1})) +
        frame_of({.codec_fingerprint = fingerprint("none"), .element_count = 1}, "");
    const Decoded<GwView> view = parse_gw(bytes_of(bytes));
    ASSERT_TRUE(view) << view.error().what;
    EXPECT_EQ(view->header.shape, shape);
  }
}

TEST(GwFormat, TensorOfNoElementsHasNoFrames) {
  const std::vector<std::byte> bytes = gw_header_bytes({.spec = "none", .shape = Shape{0, 7}});
  const Decoded<GwView> view = parse_gw(bytes);
  ASSERT_TRUE(view) << view.error().what;
  EXPECT_TRUE(view->frames.empty());
}

TEST(GwFormat, EverySingleAlteredByteIsRefused) {
  std::string bytes = some_file();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char original = bytes[i];
    for (int altered = 0; altered < 256; ++altered) {
      bytes[i] = static_cast<char>(altered);
      ASSERT_EQ(parse_gw(bytes_of(bytes)).has_value(), bytes[i] == original) << "byte " << i;
    }
    bytes[i] = original;
  }
}

TEST(GwFormat, EveryTruncationIsRefusedWhereTheFileEnds) {
  const std::string bytes = some_file();
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    const Decoded<GwView> view = parse_gw(bytes_of(bytes).first(kept));
    ASSERT_FALSE(view) << kept;
    ASSERT_EQ(view.error().byte_offset, kept) << view.error().what;
  }
}

TEST(GwFormat, BytesBehindTheLastFrameAreRefused) {
  const std::string bytes = some_file();
  expect_gw_refused(bytes + '\0', bytes.size(), "more bytes behind the last frame");
}

TEST(GwFormat, CopyingAsTextIsNoticed) {
  std::string line_ends = some_file();
  line_ends.erase(line_ends.find('\r'), 1);
  std::string seven_bits = some_file();
  for (char& c : seven_bits) c = static_cast<char>(c & 0x7f);
  for (const std::string& damaged : {line_ends, seven_bits, std::string("foreign")}) {
    expect_gw_refused(damaged, 0, "this is not a .gw file, or it was transferred as text");
  }
}

// The checksums are right in all of these: what the header says is the reason.
TEST(GwFormat, HeadersThatMakeNoSenseAreRefusedByName) {
  const auto expect_refused_with = [](std::size_t at, auto value, std::size_t byte_offset,
                                      std::string_view what) {
    std::string bytes = some_file();
    store(bytes, at, value);
    renew_file_checksum(bytes);
    expect_gw_refused(bytes, byte_offset, what);
  };
  expect_refused_with(8, std::uint16_t{2}, 8, "file of an unknown version");
  expect_refused_with(10, std::uint16_t{3}, 10, "file with an unknown flag");
  expect_refused_with(10, std::uint16_t{0}, 16, "file with half a shape");
  expect_refused_with(12, std::uint32_t{4097}, 12, "file with too long a spec");
  expect_refused_with(16, std::uint32_t{65}, 16, "file with too many dimensions");
  expect_refused_with(20, std::uint32_t{1}, 20, "file with a reserved field in use");
  expect_refused_with(24, kGwElementsMax + 1, 24, "file of too many elements");
  expect_refused_with(24, std::uint64_t{7}, 52, "file whose shape is not that of its elements");
  expect_refused_with(52, std::uint64_t{1} << 63, 52,
                      "file whose shape is not that of its elements");
  expect_refused_with(32, std::uint64_t{1} << 32, 32, "file of too many frames");
  expect_refused_with(32, std::uint64_t{1}, kFramesAt[1],
                      "file whose frames do not cover its elements");
  expect_refused_with(32, std::uint64_t{0xffffffff}, some_file().size(),
                      "the bytes end within a frame's header");
}

TEST(GwFormat, FramesThatAreNotTheNextOneAreRefusedByName) {
  const auto expect_refused_with = [](std::size_t at, auto value, std::size_t byte_offset,
                                      std::string_view what) {
    std::string bytes = some_file();
    store(bytes, kFramesAt[1] + at, value);
    renew_frame_checksum(bytes, 1);
    expect_gw_refused(bytes, kFramesAt[1] + byte_offset, what);
  };
  expect_refused_with(8, std::uint64_t{1}, 8, "frame of another run");
  expect_refused_with(16, std::uint64_t{1}, 16, "frame of another step");
  expect_refused_with(24, std::uint32_t{0}, 24, "frame of another exchange");
  expect_refused_with(28, std::uint32_t{1}, 28, "frame of another sender");
  expect_refused_with(32, std::uint16_t{2}, 32, "frame of another direction");
  expect_refused_with(40, std::uint64_t{1}, 40, "frame of another codec");
  expect_refused_with(48, std::uint64_t{3}, 48, "frame that starts at another element");
  expect_refused_with(56, std::uint64_t{0}, 56, "frame of no elements");
  expect_refused_with(56, std::uint64_t{3}, 56, "frame of too many elements");
}

TEST(GwFormat, RepeatFramesAreRefused) {
  const std::string bytes =
      text_of(gw_header_bytes({.spec = "none", .element_count = 1, .frame_count = 1})) +
      frame_of({.repeat = true, .codec_fingerprint = fingerprint("none"), .element_count = 1}, "");
  expect_gw_refused(bytes, bytes.size() - kFrameHeaderBytes + 6, "repeat frame in a file");
}

TEST(GwFormat, FramesMayNotClaimMoreElementsThanTheFormatAllows) {
  const auto file_of_one_frame = [](std::uint64_t elements) {
    return text_of(gw_header_bytes({.spec = "none", .element_count = elements, .frame_count = 1})) +
           frame_of({.codec_fingerprint = fingerprint("none"), .element_count = elements}, "");
  };
  EXPECT_TRUE(parse_gw(bytes_of(file_of_one_frame(kGwFrameElementsMax))));
  for (const std::uint64_t elements : {kGwFrameElementsMax + 1, kGwElementsMax}) {
    const std::string bytes = file_of_one_frame(elements);
    expect_gw_refused(bytes, bytes.size() - kFrameHeaderBytes + 56, "frame of too many elements");
  }
}

TEST(GwFormat, RandomAlterationsGiveAViewOrAReason) {
  std::mt19937 random(23);
  for (int round = 0; round < 50'000; ++round) {
    std::string bytes = some_file();
    for (std::size_t i = 1 + random() % 4; i > 0; --i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 2 == 0) renew_file_checksum(bytes);
    if (random() % 2 == 0) renew_frame_checksum(bytes, random() % 2);
    const Decoded<GwView> view = parse_gw(bytes_of(bytes));
    if (view) {
      ASSERT_EQ(view->frames.size(), view->header.frame_count);
    } else {
      ASSERT_LE(view.error().byte_offset, bytes.size());
    }
  }
}

}  // namespace
}  // namespace gradwire
