#include "gradwire/file/gw_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Names = std::vector<std::string>;
using Shape = std::vector<std::uint64_t>;

Tensor gaussian(std::size_t elements, std::optional<Shape> shape = {}) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  Tensor tensor{.values = std::vector<float>(elements), .shape = std::move(shape)};
  for (float& value : tensor.values) value = normal(random);
  return tensor;
}

// The bytes of the file that write_gw makes.
std::string gw_bytes(const Tensor& tensor, std::string_view spec, std::uint64_t seed = 0,
                     std::size_t threads = 1) {
  const TestDirectory directory;
  ThreadPool pool(threads);
  write_gw(directory / "t.gw", tensor, *make_codec(spec), seed, pool);
  return read_text(directory / "t.gw");
}

Tensor decoded(const std::string& bytes, std::size_t threads = 1) {
  const TestDirectory directory;
  write_text(directory / "t.gw", bytes);
  ThreadPool pool(threads);
  return decode_gw(read_gw(directory / "t.gw"), pool);
}

// What reading and decoding the file says, without its path.
std::string refusal(const std::string& bytes) {
  const TestDirectory directory;
  const std::string path = directory / "t.gw";
  write_text(path, bytes);
  ThreadPool pool(1);
  const std::string message = message_of<FileError>([&] { decode_gw(read_gw(path), pool); });
  return message.empty() ? message : message.substr(path.size() + 2);
}

// A file that parses, of one frame with the payload given.
std::string file_of_one_frame(std::string_view spec, std::uint64_t elements,
                              std::span<const std::byte> payload) {
  std::vector<std::byte> bytes =
      gw_header_bytes({.spec = spec, .shape = {}, .element_count = elements, .frame_count = 1});
  const std::size_t frame_at = bytes.size();
  bytes.resize(frame_at + kFrameHeaderBytes);
  write_frame_header({.codec_fingerprint = fingerprint(spec), .element_count = elements}, payload,
                     std::span(bytes).subspan(frame_at));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  GW_CHECK(parse_gw(bytes).has_value());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(GwFile, NoneGivesTheVeryTensorBack) {
  Tensor tensor = gaussian(6, Shape{2, 3});
  tensor.values[1] = -0.0F;
  tensor.values[2] = 1e-40F;
  EXPECT_EQ(decoded(gw_bytes(tensor, "none")), tensor);
}

TEST(GwFile, KeepsEveryShapeOrItsAbsence) {
  for (const Tensor& tensor :
       {gaussian(6), gaussian(1, Shape{}), gaussian(0), gaussian(0, Shape{3, 0}),
        gaussian(1, Shape(kTensorDimensionsMax, 1)), gaussian(24, Shape{2, 3, 4})}) {
    EXPECT_EQ(decoded(gw_bytes(tensor, "none")), tensor);
  }
}

TEST(GwFile, EveryCodecIsReadBackByItsSpecAlone) {
  const Tensor tensor = gaussian(5000);
  for (const std::string& spec : example_codec_specs()) {
    const std::unique_ptr<const Codec> codec = make_codec(spec);
    const std::string bytes = gw_bytes(tensor, spec, 7);
    const Decoded<GwView> view = parse_gw(bytes_of(bytes));
    ASSERT_TRUE(view) << spec << ": " << view.error().what;
    EXPECT_EQ(view->header.spec, codec->spec());
    EXPECT_EQ(view->header.seed, 7u);
    EXPECT_EQ(view->header.element_count, 5000u);
    ASSERT_EQ(view->frames.size(), 1u) << spec;

    // The same as one call of the codec on the whole tensor.
    const Rng rng{.seed = 7, .tensor = Rng::tensor_id("")};
    Scale scale;
    Workspace workspace;
    std::vector<std::byte> payload(codec->payload_bytes_max(tensor.values.size()));
    codec->measure(tensor.values, rng, scale);
    payload.resize(codec->encode(scale, {tensor.values, 0}, rng, payload, workspace).bytes);
    const std::span<const std::byte> in_file = view->frames[0].frame.payload;
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), in_file.begin(), in_file.end())) << spec;
    std::vector<float> target(tensor.values.size());
    ASSERT_TRUE(codec->decode(payload, target, workspace)) << spec;
    EXPECT_EQ(decoded(bytes).values, target) << spec;
  }
}

TEST(GwFile, LongTensorsAreCutIntoFramesAtBucketMultiples) {
  const Tensor tensor = gaussian((1 << 20) + 1000);
  const std::string bytes = gw_bytes(tensor, "qsgd(bits=4, bucket=1000)");
  const Decoded<GwView> view = parse_gw(bytes_of(bytes));
  ASSERT_TRUE(view) << view.error().what;
  ASSERT_EQ(view->frames.size(), 2u);
  EXPECT_EQ(view->frames[0].byte_offset, view->header_bytes);
  EXPECT_EQ(view->frames[0].frame.header.element_count, 1048000u);
  EXPECT_EQ(view->frames[1].byte_offset, view->header_bytes + view->frames[0].frame.bytes());
  EXPECT_EQ(view->frames[1].frame.header.first_element, 1048000u);
  EXPECT_EQ(view->frames[1].frame.header.exchange, 1u);
}

TEST(GwFile, BytesAndValuesDoNotDependOnTheNumberOfThreads) {
  const Tensor tensor = gaussian(5 << 20);
  const std::string bytes = gw_bytes(tensor, "natural", 3, 1);
  EXPECT_EQ(gw_bytes(tensor, "natural", 3, 3), bytes);
  EXPECT_EQ(decoded(bytes, 3), decoded(bytes, 1));
  EXPECT_NE(gw_bytes(tensor, "natural", 4, 1), bytes);
}

TEST(GwFile, NonFiniteValuesPoisonTheFrameTheyAreIn) {
  Tensor tensor = gaussian((1 << 20) + 8);
  tensor.values[(1 << 20) + 5] = std::numeric_limits<float>::quiet_NaN();
  const std::string bytes = gw_bytes(tensor, "natural");
  const Decoded<GwView> view = parse_gw(bytes_of(bytes));
  ASSERT_TRUE(view);
  ASSERT_EQ(view->frames.size(), 2u);
  EXPECT_TRUE(view->frames[1].frame.header.poison);
  EXPECT_FALSE(std::isfinite(decoded(bytes).values[(1 << 20) + 5]));
}

TEST(GwFile, FiniteTensorsPoisonNothing) {
  const std::string bytes = gw_bytes(gaussian(1000), "natural");
  const Decoded<GwView> view = parse_gw(bytes_of(bytes));
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->frames[0].frame.header.poison);
}

TEST(GwFile, PayloadsThatDoNotDecodeAreRefusedWithTheirPlace) {
  const std::string bytes = file_of_one_frame("none", 6, std::vector<std::byte>(23));
  const std::string message = refusal(bytes);
  ASSERT_TRUE(message.starts_with("at byte ")) << message;
  const std::size_t place = std::stoul(message.substr(std::string("at byte ").size()));
  EXPECT_GE(place, bytes.size() - 23) << message;
  EXPECT_LE(place, bytes.size()) << message;
}

TEST(GwFile, UnknownCodecsAreRefusedWithTheReasonInOneLine) {
  const std::string message = refusal(file_of_one_frame("none | nonne", 1, {}));
  EXPECT_TRUE(message.starts_with("at byte 55: its codec is not known here: ")) << message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << message;
}

TEST(GwFile, WorkedExampleOfTheSpecification) {
  // docs/wire_format.md, "A worked example": change both or neither.
  const std::string bytes = gw_bytes({.values = {1, -2.5F}, .shape = Shape{2}}, "none", 7);
  std::string hex;
  for (const std::byte byte : bytes_of(bytes)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  EXPECT_EQ(hex,
            "894757460d0a1a0a0100010004000000"
            "01000000000000000200000000000000"
            "01000000000000000700000000000000"
            "6e6f6e650200000000000000221f4edf"
            "e5f4938c475746310100000000000000"
            "00000000000000000000000000000000"
            "0000000001000000000000004e06c5af"
            "83b45633000000000000000002000000"
            "000000000800000000000000fa989651"
            "0e1e1c8b0000803f000020c0");
}

TEST(GwFile, FailedWritesLeaveNoFile) {
  const TestDirectory directory;
  ThreadPool pool(1);
  EXPECT_THROW(write_gw(directory / "missing" / "t.gw", gaussian(6), *make_codec("none"), 0, pool),
               FileError);
  EXPECT_EQ(directory.names(), Names{});
}

}  // namespace
}  // namespace gradwire
