#include "gradwire/file/one_shot.h"

#include <cmath>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

std::vector<float> some_values() {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  return values;
}

TEST(OneShot, ExactCodecsGiveTheValuesBack) {
  const std::vector<float> values = some_values();
  EXPECT_EQ(decode(encode("none", values)), values);
}

TEST(OneShot, EveryCodecGivesAsManyValuesAndTheSameTwice) {
  const std::vector<float> values = some_values();
  for (const std::string& spec : example_codec_specs()) {
    SCOPED_TRACE(spec);
    const std::vector<std::byte> bytes = encode(spec, values, 7);
    EXPECT_EQ(bytes, encode(spec, values, 7));
    EXPECT_EQ(decode(bytes).size(), values.size());
  }
}

TEST(OneShot, NoValuesAreFine) { EXPECT_TRUE(decode(encode("natural", {})).empty()); }

TEST(OneShot, ForeignBytesAreRefusedWithTheReason) {
  EXPECT_THROW(decode({}), FileError);
  std::vector<std::byte> bytes = encode("qsgd(bits=4)", some_values());
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_THROW(decode(bytes), FileError);
  EXPECT_THROW(encode("nonsense", some_values()), SpecError);
}

}  // namespace
}  // namespace gradwire
