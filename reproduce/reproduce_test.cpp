#include "reproduce/reproduce.h"

#include <algorithm>
#include <sstream>

#include "gradwire/core/usage_error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

TEST(FindClaims, OneByItsNameOrAll) {
  ASSERT_EQ(find_claims("diana").size(), 1u);
  EXPECT_EQ(std::string(find_claims("diana")[0].name), "diana");
  const auto is_long = [](const ClaimEntry& entry) { return entry.is_long; };
  EXPECT_EQ(
      find_claims("all").size(),
      all_claims().size() - static_cast<std::size_t>(std::ranges::count_if(all_claims(), is_long)));
  EXPECT_EQ(find_claims("converged").size(), 1U);
  EXPECT_EQ(message_of<UsageError>([] { find_claims("dinaa"); }),
            "there is no claim 'dinaa'; did you mean 'diana'?");
}

// Measures one number, 7.
Claim measure_seven(Workbench& bench) {
  const Json seven = bench.trial("seven", [] { return Json(7); });
  return {.name = "natural",
          .rows = {{.what = "number", .published = "7", .measured = seven.dump(), .holds = true}},
          .tables = {},
          .pictures = {}};
}

class ReproduceClaim : public testing::Test {
 protected:
  KeptClaim reproduce(bool is_fresh = false) {
    options_.is_fresh = is_fresh;
    return reproduce_claim(kSeven, options_, {.out = out_, .err = err_});
  }
  std::string refusal() const {
    return message_of<UsageError>([&] { check_kept({&kSeven, 1}, options_); });
  }

  static constexpr ClaimEntry kSeven = {
      .name = "natural", .title = "seven", .reproduce = measure_seven};
  const TestDirectory directory_;
  ReproduceOptions options_{.directory = directory_ / "out"};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ReproduceClaim, IsKeptWithItsDateUntilItIsMeasuredAfresh) {
  KeptClaim first = reproduce();
  EXPECT_EQ(first.claim.rows[0].measured, "7");
  const std::vector<KeptClaim> kept = read_claims(options_.directory);
  ASSERT_EQ(kept.size(), all_claims().size());
  EXPECT_EQ(kept[0], first);
  EXPECT_FALSE(kept[1].is_measured);
  first.finished = "a year ago";
  write_claim(options_.directory / "natural", first);
  EXPECT_EQ(reproduce().finished, "a year ago");
  EXPECT_NE(reproduce(true).finished, "a year ago");
}

TEST_F(ReproduceClaim, QuickAndFullWorkDoNotMix) {
  EXPECT_EQ(refusal(), "");
  reproduce();
  EXPECT_EQ(refusal(), "");
  options_.is_quick = true;
  EXPECT_EQ(refusal(),
            options_.directory.string() + " holds a full run: give another --out, or --fresh");
  options_.is_fresh = true;
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace gradwire::reproduce
