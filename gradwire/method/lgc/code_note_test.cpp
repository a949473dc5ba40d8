#include "gradwire/method/lgc/code_note.h"

#include "gradwire/method/note_totals.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

CodeNote coded(double error) {
  return {.phase = "coded", .parts = {{"codes", 12}}, .error = error, .learn_seconds = 0.25};
}

TEST(CodeNote, LogHasItsRemark) {
  CodeNote note = coded(0.1);
  EXPECT_EQ(to_note(note).line(), "");
  note.remark = "The code is used from now on.";
  EXPECT_EQ(to_note(note).line(), "The code is used from now on.");
}

TEST(CodeNote, RunSaysWhatTheCodeCameTo) {
  const NoteKind& kind = code_note_kind();
  NoteTotals totals(kind);
  EXPECT_EQ(kind.summary(totals, 1), "");
  for (int step = 0; step < 1234; ++step) totals.add(to_note({.phase = "sparse"}), {});
  EXPECT_EQ(kind.summary(totals, 1),
            "The code was never used: 1,234 steps with exact values were not enough.");
  totals.add(to_note(coded(0.1)), {.bytes_sent = 1000});
  totals.add(to_note(coded(0.3)), {.bytes_sent = 1480});
  EXPECT_EQ(kind.summary(totals, 10),
            "A step by the code sent 1.24 kB and lost 0.2 of the mean's norm; learning took 5% of "
            "the time of rank 0.");
}

}  // namespace
}  // namespace gradwire
