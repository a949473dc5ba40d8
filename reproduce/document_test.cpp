#include "reproduce/document.h"

#include <array>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/file/test_text.h"
#include "gtest/gtest.h"

namespace gradwire::reproduce {
namespace {

KeptClaim example() {
  return {.claim = {.name = "example",
                    .title = "an example",
                    .rows = {{.what = "topk | natural",
                              .published = "f*",
                              .measured = "1",
                              .holds = false,
                              .reason = "few workers"}},
                    .tables = {},
                    .pictures = {{.name = "curve",
                                  .title = "A curve",
                                  .x_label = "x",
                                  .y_label = "y",
                                  .curves = {{"a", {1, 2}, {3, 4}}}}},
                    .setting = "Words."},
          .is_quick = true,
          .finished = "2026-11-16 23:15 UTC",
          .seconds = 75,
          .version = "0.1.0",
          .machine = {{"cpus", 2}, {"compiler", "gcc"}, {"system", "Linux"}}};
}

TEST(Document, ClaimIsKeptWithItsPictures) {
  const TestDirectory directory;
  EXPECT_FALSE(read_claim(directory / "example"));
  write_claim(directory / "example", example());
  EXPECT_EQ(read_claim(directory / "example"), example());
  EXPECT_TRUE(read_text(directory / "example/curve.svg").starts_with("<svg"));
}

TEST(Document, DamagedClaimIsRefused) {
  const TestDirectory directory;
  write_text(directory / "claim.json", "{}");
  EXPECT_TRUE(
      contains(message_of<FileError>([&] { read_claim(directory / ""); }), "is not a claim"));
}

TEST(Document, HasVerdictsReasonsPicturesAndTheMachine) {
  const TestDirectory directory;
  const KeptClaim kept = example();
  write_document(directory / "docs/results.md", {&kept, 1});
  const std::string text = read_text(directory / "docs/results.md");
  for (const char* part :
       {"gradwire 0.1.0 on 2 cores, Linux, gcc", "| example: an example | 0 | 1 | 0 | 0 |",
        "## example: an example", "| topk \\| natural | f\\* | 1 | does not hold |",
        "- topk \\| natural **does not hold**, probably because: few workers",
        "![A curve](results/curve.svg)",
        "Quick run, finished 2026-11-16 23:15 UTC, 1 min 15 s of work. "
        "`gradwire reproduce example --quick`"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
  EXPECT_TRUE(std::filesystem::exists(directory / "docs/results/curve.svg"));
}

TEST(Document, PartialAndUnmeasuredClaimsAreShownAsSuch) {
  const TestDirectory directory;
  KeptClaim partial = example();
  partial.claim.missing = "2 of 3 seeds";
  partial.claim.rows[0].holds = true;
  partial.claim.rows[0].extent = Extent::part;
  const KeptClaim none{
      .claim = {.name = "none", .title = "another", .rows = {}, .tables = {}, .pictures = {}},
      .is_measured = false};
  const std::array claims = {partial, none};
  write_document(directory / "results.md", claims);
  const std::string text = read_text(directory / "results.md");
  for (const char* part :
       {"| example: an example | 0 | 0 | 1 | 0 |", "| none: another | - | - | - | all |",
        "**Partial**: 2 of 3 seeds are missing.", "| topk \\| natural | f\\* | 1 | partial |",
        "Not measured. `gradwire reproduce none` measures it."}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
  EXPECT_FALSE(contains(text, "| holds |\n| topk"));
}

TEST(Document, KeepsItsClaimsForTheNextVersion) {
  const TestDirectory directory;
  const KeptClaim kept = example();
  EXPECT_FALSE(read_claim_beside(directory / "results.md", "example"));
  write_document(directory / "results.md", {&kept, 1});
  EXPECT_EQ(read_claim_beside(directory / "results.md", "example"), kept);
}

TEST(Document, SummaryIsTheSameInAnotherDocument) {
  const TestDirectory directory;
  KeptClaim kept = example();
  kept.claim.rows[0].headline = "An example, in short";
  write_document(directory / "results.md", {&kept, 1});
  const std::string begin = std::string(kSummaryBegin) + '\n';
  const std::string end = std::string(kSummaryEnd) + '\n';
  write_text(directory / "README.md", "before\n" + begin + "stale\n" + end + "behind\n");
  write_summary(directory / "README.md", {&kept, 1});
  const std::string text = read_text(directory / "README.md");
  EXPECT_TRUE(text.starts_with("before\n" + begin));
  EXPECT_TRUE(text.ends_with(end + "behind\n"));
  EXPECT_FALSE(contains(text, "stale"));
  EXPECT_TRUE(contains(text, "| An example, in short | f\\* | 1 | does not hold (quick run) |"));
  const std::string summary = text.substr(text.find(begin), text.find(end) - text.find(begin));
  EXPECT_TRUE(contains(read_text(directory / "results.md"), summary));
  write_text(directory / "README.md", "nothing\n");
  EXPECT_THROW(write_summary(directory / "README.md", {&kept, 1}), FileError);
}

}  // namespace
}  // namespace gradwire::reproduce
