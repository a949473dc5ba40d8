#include "gradwire/method/safe_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gradwire/method/parsed_method.h"

namespace gradwire {
namespace {

double step(const char* spec, Topology topology = Topology::gather) {
  return parse_method(spec).safe_step({.smoothness = 2,
                                       .convexity = 0.02,
                                       .workers = 20,
                                       .ranks = 20,
                                       .elements = 112,
                                       .topology = topology});
}

TEST(StepSize, DianaIsAsProven) {
  EXPECT_DOUBLE_EQ(step("diana(natural)"), 1 / (2 * (1 + 2 * 0.125 / 20)));
  const double omega = std::sqrt(112.0) - 1;
  EXPECT_DOUBLE_EQ(step("diana(qsgd(bits=2, norm=l2, bucket=112))"),
                   1 / (2 * (1 + 2 * omega / 20)));
}

TEST(StepSize, DianaWithADownlinkIsShorter) {
  EXPECT_DOUBLE_EQ(step("diana(natural, down=natural)", Topology::scatter),
                   1 / (2 * (1 + 6 * 0.125) * (1 + 6 * 0.125 / 20)));
  EXPECT_DOUBLE_EQ(step("diana(natural)", Topology::scatter), step("diana(natural)"));
  EXPECT_LT(step("diana(natural, down=topk(10%))", Topology::scatter), step("diana(natural)") / 5);
}

TEST(StepSize, Ef21IsAsProven) {
  const double delta = 12.0 / 112;  // what topk(10%) keeps of 112, rounded up
  const double t = 1 - std::sqrt(1 - delta);
  const double b = (1 - delta) / t;
  EXPECT_NEAR(step("ef21(topk(10%))"),
              std::min(1 / (2 * (1 + std::sqrt(2 * b / t))), t / (2 * 0.02)), 2e-3);
  EXPECT_DOUBLE_EQ(step("ef21(none)"), 0.5);
  EXPECT_LT(step("ef21(topk(10%), down=topk(10%))", Topology::scatter), step("ef21(topk(10%))"));
}

TEST(StepSize, NoiseThatAveragesShortensStepsLess) {
  EXPECT_DOUBLE_EQ(step("randk(10%)"), step("direct(randk(10%), down=none)"));
  EXPECT_LT(step("randk(10%, seed=shared)"), step("randk(10%)") / 3);
  EXPECT_LT(step("natural", Topology::scatter), step("natural", Topology::gather));
  EXPECT_LT(step("natural", Topology::ring), step("natural", Topology::scatter));
  EXPECT_DOUBLE_EQ(step("none", Topology::ring), 0.5);
}

TEST(StepSize, WhereNothingIsProvenItIsOneOverL) {
  for (const char* spec :
       {"ef(topk(1%))", "ef(sign, down=none)", "topk(1%)", "powersgd(rank=2)", "sign | entropy"}) {
    EXPECT_DOUBLE_EQ(step(spec), 0.5) << spec;
  }
}

TEST(StepSize, LazyMethodsTakeShortSteps) {
  EXPECT_DOUBLE_EQ(step("lasg(none)"), 0.5 / 5.5);
  EXPECT_DOUBLE_EQ(step("lasg(none, delay=19)"), 0.5 / 10);
  EXPECT_LT(step("sasg(topk(1%))"), step("lasg(none)") / 5);
}

TEST(StepSize, MomentumOfDgcIsTakenOff) {
  EXPECT_DOUBLE_EQ(step("dgc(1%)"), (1 - 0.9) / 2);
  EXPECT_DOUBLE_EQ(step("dgc(1%, momentum=0.5)"), 0.25);
}

// Told or not, the mean comes down exact.
TEST(StepSize, AnExactDownlinkCostsNothing) {
  EXPECT_DOUBLE_EQ(step("diana(natural, down=none)", Topology::scatter), step("diana(natural)"));
  EXPECT_DOUBLE_EQ(step("ef21(topk(10%), down=none)", Topology::scatter), step("ef21(topk(10%))"));
}

}  // namespace
}  // namespace gradwire
