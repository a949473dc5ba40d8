#include "gradwire/method/parsed_method.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gradwire/core/error.h"
#include "gradwire/method/registry.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

TEST(ParsedMethod, HasTheCodecsOfBothWays) {
  const auto codecs = [](const char* spec) {
    const ParsedMethod method = parse_method(spec);
    return method.up->spec() + " / " + method.down->spec();
  };
  EXPECT_EQ(codecs("natural"), "natural / natural");
  EXPECT_EQ(codecs("ef(topk(1%))"), "topk(1%) / topk(1%)");
  EXPECT_EQ(codecs("ef(topk(1%), down=natural)"), "topk(1%) / natural");
  EXPECT_EQ(codecs("diana(natural)"), "natural / none");
  EXPECT_EQ(codecs("lasg"), "none / none");
  EXPECT_EQ(codecs("sasg(topk(1%))"), "topk(1%) / none");
  EXPECT_EQ(codecs("lgreco(topk)"), "topk(1%) / topk(1%)");
  // After the warm-up.
  EXPECT_EQ(codecs("dgc(0.1%, warmup=100, values=natural)"),
            "topk(0.1%) | natural / topk(0.1%) | natural");
}

TEST(ParsedMethod, WithoutACodecHasItsFactors) {
  const ParsedMethod method = parse_method("powersgd(rank=7)");
  EXPECT_EQ(method.up, nullptr);
  EXPECT_EQ(method.down, nullptr);
  EXPECT_EQ(method.factor_rank, 7u);
  EXPECT_FALSE(parse_method("ef(natural)").factor_rank);
}

TEST(ParsedMethod, KnowsTheExactMean) {
  for (const char* spec : {"none", "direct(none)", "direct(none, down=none)"}) {
    EXPECT_TRUE(parse_method(spec).is_exact_mean()) << spec;
  }
  for (const char* spec : {"natural", "direct(natural, down=none)", "none | entropy", "ef(none)",
                           "lasg(none)", "powersgd"}) {
    EXPECT_FALSE(parse_method(spec).is_exact_mean()) << spec;
  }
}

// What is known without ranks is what the method says itself.
TEST(ParsedMethodThreads, DescribesTheMethodThatItMakes) {
  run_communicators(1, [&](Communicator& communicator) {
    for (const MethodExample& example : example_methods()) {
      const ParsedMethod parsed = parse_method(example.spec);
      const auto method =
          parsed.make(communicator, {{"matrix", {64, 64}}, {"layer", {64, 64}}, {"bias", {64}}},
                      {.topology = Topology::server});
      EXPECT_EQ(method->spec(), parsed.spec);
      const MethodTraits traits = method->traits();
      EXPECT_EQ(traits.needs_whole_gradient, parsed.traits.needs_whole_gradient) << parsed.spec;
      EXPECT_EQ(traits.owns_momentum, parsed.traits.owns_momentum) << parsed.spec;
      EXPECT_EQ(traits.needs_parameters, parsed.traits.needs_parameters) << parsed.spec;
      EXPECT_EQ(traits.output, parsed.traits.output) << parsed.spec;
      EXPECT_EQ(method->memory_bytes() > 0, parsed.traits.has_memory) << parsed.spec;
      EXPECT_EQ(example.vectors > 0, parsed.traits.has_memory) << parsed.spec;
    }
  });
}

TEST(MethodRegistryThreads, TakesTheMethodsOfOthers) {
  const auto read = [](MethodReader& reader) {
    ParsedMethod method = parse_method("natural");
    method.spec = reader.finish();
    return method;
  };
  EXPECT_THROW(parse_method("my_method"), SpecError);
  for (int i = 0; i < 2; ++i) {
    register_method({.name = "my_method",
                     .read = read,
                     .examples = {{"my_method", 0, 0, "", any_topology(), "a test's own method"}}});
  }
  EXPECT_EQ(parse_method(" my_method ").spec, "my_method");
  EXPECT_THROW(parse_method("my_method(2)"), SpecError);
  const std::vector<MethodExample> examples = example_methods();
  EXPECT_EQ(std::ranges::count(examples, "my_method", &MethodExample::spec), 1);
  run_communicators(
      2, [](Communicator& communicator) { TestWorker(communicator, "my_method", {}).step(0); });
}

}  // namespace
}  // namespace gradwire
