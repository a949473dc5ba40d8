#include "cli/test_program.h"
#include "gradwire/codec/codec.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Names = std::vector<std::string>;

TEST(CodecsCommand, JsonHasEveryCodecWithItsSizeAndGuarantee) {
  const Outcome outcome = gradwire({"codecs", "--json", "--elements", "10000"});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json document = outcome.json();
  EXPECT_EQ(fields(document), Names{"codecs"});
  const Names specs = example_codec_specs();
  ASSERT_EQ(document["codecs"].size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Json& codec = document["codecs"][i];
    EXPECT_EQ(fields(codec), (Names{"spec", "bits_per_element", "guarantee"}));
    EXPECT_EQ(fields(codec["guarantee"]), (Names{"kind", "constant", "elements", "reason"}));
    EXPECT_EQ(codec["spec"], make_codec(specs[i])->spec());
    EXPECT_GT(codec["bits_per_element"], 0.0);
    EXPECT_EQ(codec["guarantee"]["elements"], 10000);
    const bool has_reason = codec["guarantee"]["reason"] != "";
    EXPECT_EQ(has_reason, codec["guarantee"]["kind"] == "none") << codec;
  }
}

TEST(CodecsCommand, GuaranteesAreThoseOfTheElementsAskedFor) {
  const Json document = gradwire({"codecs", "--json", "--elements", "100"}).json();
  EXPECT_FALSE(document["codecs"].empty());
  for (const Json& codec : document["codecs"]) {
    const std::string spec = codec["spec"];
    EXPECT_EQ(codec["guarantee"]["constant"], make_codec(spec)->guarantee(100).constant) << spec;
  }
}

TEST(CodecsCommand, UncompressedTakesThirtyTwoBits) {
  const Outcome outcome = gradwire({"codecs", "--json", "--elements", "1000"});
  const Json none = outcome.json()["codecs"][0];
  EXPECT_EQ(none["spec"], "none");
  EXPECT_EQ(none["bits_per_element"], 32.0);
}

TEST(CodecsCommand, TableHasALineForEveryCodec) {
  const Outcome outcome = gradwire({"codecs", "--elements", "1000"});
  EXPECT_EQ(outcome.exit_code, kDone);
  for (const std::string& spec : example_codec_specs()) {
    EXPECT_TRUE(contains(outcome.out, "\n" + make_codec(spec)->spec() + " ")) << spec;
  }
}

}  // namespace
}  // namespace gradwire::cli
