#include "reproduce/claim.h"

#include <limits>

#include "gradwire/file/test_text.h"
#include "gtest/gtest.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

Claim example() {
  return {.name = "example",
          .title = "an example",
          .rows = {{.what = "second moment",
                    .published = "at most 9/8",
                    .measured = "1.12",
                    .holds = true},
                   {.what = "time",
                    .published = "shorter",
                    .measured = "longer",
                    .holds = false,
                    .is_timing = true,
                    .reason = "both share two cores"}},
          .tables = {{.title = "Bits", .header = {"codec", "bits"}, .rows = {{"natural", "9"}}}},
          .pictures = {{.name = "curve",
                        .title = "A curve",
                        .x_label = "x",
                        .y_label = "y",
                        .log_y = true,
                        .curves = {{"a", {1, 2}, {0.5, 0.25}}}}},
          .setting = "Nothing but words."};
}

// The names of an object's fields, in order.
std::vector<std::string> fields(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST(Claim, ComesBackFromItsJson) {
  const Claim claim = example();
  const Json document = to_json(claim);
  EXPECT_EQ(fields(document), (std::vector<std::string>{"claim", "title", "setting", "missing",
                                                        "rows", "tables", "pictures"}));
  EXPECT_EQ(document["rows"][1]["holds"], false);
  EXPECT_EQ(claim_from(Json::parse(document.dump())), claim);
}

TEST(Claim, CurveLeavesOutWhatIsNotFinite) {
  Claim claim = example();
  claim.pictures[0].curves[0].y[0] = std::numeric_limits<double>::quiet_NaN();
  const Claim back = claim_from(Json::parse(to_json(claim).dump()));
  EXPECT_EQ(back.pictures[0].curves[0], (Curve{"a", {2}, {0.25}}));
}

TEST(Claim, TextHasVerdictsReasonsAndTables) {
  EXPECT_EQ(claim_text(example()),
            "example: an example\n"
            "Nothing but words.\n"
            "\n"
            "what           published    measured\n"
            "-------------  -----------  --------  -------------\n"
            "second moment  at most 9/8  1.12      holds\n"
            "time           shorter      longer    does not hold\n"
            "\n"
            "time does not hold, probably because: both share two cores\n"
            "\n"
            "Bits\n"
            "\n"
            "codec    bits\n"
            "-------  ----\n"
            "natural     9\n");
}

TEST(Claim, PartialRowsNeitherHoldNorFail) {
  ClaimRow row{.what = "w", .published = "p", .measured = "m", .holds = true};
  EXPECT_EQ(verdict_of(row), "holds");
  row.extent = Extent::part;
  EXPECT_EQ(verdict_of(row), "partial");
  EXPECT_FALSE(fails(row));
  row.extent = Extent::nothing;
  EXPECT_EQ(verdict_of(row), "not measured");
  Claim claim{.name = "n", .rows = {row}, .tables = {}, .pictures = {}, .missing = "8 of 9 runs"};
  EXPECT_EQ(claim_from(Json::parse(to_json(claim).dump())), claim);
  EXPECT_TRUE(contains(claim_text(claim), "Partial: 8 of 9 runs are missing.\n"));
}

TEST(Claim, LongCellsTakeSeveralLines) {
  Claim claim{.name = "n", .title = "t", .rows = {}, .tables = {}, .pictures = {}};
  claim.rows.push_back({.what = "one two three four five six seven eight nine ten",
                        .published = "p",
                        .measured = "m",
                        .holds = true});
  EXPECT_TRUE(contains(claim_text(claim),
                       "one two three four five six seven  p          m         holds\n"
                       "eight nine ten\n"));
}

}  // namespace
}  // namespace gradwire::reproduce
