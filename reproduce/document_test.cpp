#include "reproduce/document.h"

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
       {"gradwire 0.1.0 on 2 cores, Linux, gcc", "| example: an example | 0 | 1 |",
        "## example: an example", "| topk \\| natural | f\\* | 1 | does not hold |",
        "- topk \\| natural **does not hold**, probably because: few workers",
        "![A curve](results/curve.svg)",
        "Quick run, finished 2026-11-16 23:15 UTC, 1 min 15 s of work. "
        "`gradwire reproduce example --quick`"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
  EXPECT_TRUE(std::filesystem::exists(directory / "docs/results/curve.svg"));
}

}  // namespace
}  // namespace gradwire::reproduce
