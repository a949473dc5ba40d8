#include <gtest/gtest.h>

#include "gradwire/core/error.h"
#include "gradwire/method/method.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/workload_test_support.h"

namespace gradwire {
namespace {

void expect_refused(std::string_view text, std::string_view message) {
  try {
    parse_method(text);
    ADD_FAILURE() << text << " was taken";
  } catch (const SpecError& error) {
    EXPECT_EQ(std::string(error.what()), message);
  }
}

TEST(MethodSpec, CanonicalTextParsesToItselfAgain) {
  for (const std::string& text : test_specs()) {
    const std::string canonical = parse_method(text).spec;
    EXPECT_EQ(parse_method(canonical).spec, canonical);
  }
  EXPECT_EQ(parse_method(" direct( topk(1%)|natural , down = none ) ").spec,
            "direct(topk(1%) | natural, down=none)");
  EXPECT_EQ(parse_method("diana(natural, momentum=0, alpha=auto)").spec, "diana(natural)");
  EXPECT_EQ(parse_method("sasg(topk(1%), window=10, delay=10, weight=auto, rule=worker)").spec,
            "sasg(topk(1%))");
  EXPECT_EQ(parse_method("dgc(0.001, clip=off, values=natural)").spec, "dgc(0.1%, values=natural)");
  EXPECT_EQ(parse_method("powersgd").spec, "powersgd(rank=4)");
}

TEST(MethodSpec, PresetsStandForSpecs) {
  EXPECT_EQ(parse_method("signsgd").spec, "direct(sign(scale=off), down=sign(scale=off))");
  EXPECT_EQ(parse_method("ef_signsgd").spec, "ef(sign)");
  EXPECT_EQ(parse_method(" dqgd ").spec, "direct(qsgd(bits=2, norm=l2, bucket=512), down=none)");
}

TEST(MethodSpec, ErrorsInNestedCodecsPointIntoTheWholeText) {
  expect_refused("direct(topk(1%) | naturl)",
                 "there is no codec called 'naturl'; did you mean 'natural'?\n"
                 "  direct(topk(1%) | naturl)\n"
                 "                    ^");
  expect_refused("ef(natural, down=topk(200%))",
                 "'share' must be above 0 and at most 1, such as 1% or 0.01\n"
                 "  ef(natural, down=topk(200%))\n"
                 "                        ^");
}

TEST(MethodSpec, WrongArgumentsAreNamed) {
  for (const char* text : {"ef", "ef(down=natural)"}) {
    expect_refused(text,
                   "'ef' needs a codec, as in 'ef(natural)'\n  " + std::string(text) + "\n  ^");
  }
  expect_refused("ef(4)",
                 "expected a codec, such as 'natural', found a number\n"
                 "  ef(4)\n"
                 "     ^");
  expect_refused("diana(natural, aplha=0.1)",
                 "'diana' takes 'codec', 'alpha', 'momentum', 'down', not 'aplha'; did you mean "
                 "'alpha'?\n"
                 "  diana(natural, aplha=0.1)\n"
                 "                 ^");
  expect_refused("diana(natural, alpha=2)",
                 "'alpha' must be a number from 0 to 1\n"
                 "  diana(natural, alpha=2)\n"
                 "                       ^");
  EXPECT_THROW(parse_method("direct(natural, none)").spec, SpecError);
  EXPECT_THROW(parse_method("topk(1%) | ef(natural)").spec, SpecError);
  EXPECT_THROW(parse_method("ef(natural) | natural").spec, SpecError);
  expect_refused("daina",
                 "there is no method or codec called 'daina'; did you mean 'diana'?\n"
                 "  daina\n"
                 "  ^");
  try {
    parse_method("foo");
    ADD_FAILURE();
  } catch (const SpecError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("natural"), what.npos) << what;
    EXPECT_NE(what.find("methods are direct, ef, ef21"), what.npos) << what;
  }
}

TEST(MethodSpec, CodecsThatAMethodCannotUseAreRefusedWithTheReason) {
  for (const char* text :
       {"diana(topk(1%))", "diana(sign)", "lasg(topk(1%))", "ef(terngrad)", "ef21(sign(scale=off))",
        "ef(topk(1%), down=terngrad)", "sasg(topk(1%), down=terngrad)",
        "sasg(topk(1%), smoothness=1)", "dgc(1%, values=topk(1%))"}) {
    EXPECT_THROW(parse_method(text), SpecError) << text;
  }
}

// What the listing says about topologies is what happens.
TEST(MethodSpecThreads, ExamplesRunWhereTheListingSays) {
  for (const MethodExample& example : example_methods()) {
    for (const Topology topology :
         {Topology::scatter, Topology::server, Topology::gather, Topology::ring}) {
      run_communicators(2, [&](Communicator& communicator) {
        const bool is_listed = example.topologies.find(name(topology)) != std::string::npos;
        bool is_made = true;
        std::string why;
        try {
          TestWorker(communicator, example.spec, {.topology = topology}).step(0);
        } catch (const Error& error) {
          is_made = false;
          why = error.what();
        }
        EXPECT_EQ(is_made, is_listed) << example.spec << ", " << name(topology) << ": " << why;
      });
    }
  }
}

}  // namespace
}  // namespace gradwire
