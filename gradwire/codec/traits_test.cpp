// What codecs say about themselves.
#include <gtest/gtest.h>

#include <algorithm>

#include "gradwire/codec/codec.h"

namespace gradwire {
namespace {

TEST(CodecTraits, OnlyFloatsAsTheyAreArePlain) {
  EXPECT_TRUE(make_plain_codec()->is_plain());
  EXPECT_TRUE(make_codec("none")->is_plain());
  for (const char* spec : {"none | entropy", "fp16", "natural", "topk(100%)", "randk(1%)"}) {
    EXPECT_FALSE(make_codec(spec)->is_plain()) << spec;
  }
}

TEST(CodecTraits, AThresholdBoundsTheUnsentPart) {
  EXPECT_TRUE(make_codec("threshold(0.5)")->bounds_unsent());
  EXPECT_TRUE(make_codec("threshold(0.5) | natural")->bounds_unsent());
  EXPECT_FALSE(make_codec("topk(1%)")->bounds_unsent());
}

TEST(CodecTraits, ASharedSeedSharesTheNoise) {
  EXPECT_TRUE(make_codec("randk(1%, seed=shared)")->shares_noise());
  EXPECT_FALSE(make_codec("randk(1%)")->shares_noise());
  EXPECT_FALSE(make_codec("natural")->shares_noise());
}

TEST(CodecTraits, EveryStageHasAnExample) {
  const std::vector<std::string> examples = example_codec_specs();
  for (const std::string& name : codec_stage_names()) {
    EXPECT_TRUE(std::ranges::any_of(examples, [&](const std::string& spec) {
      return spec.find(name) != std::string::npos;
    })) << name;
  }
}

}  // namespace
}  // namespace gradwire
