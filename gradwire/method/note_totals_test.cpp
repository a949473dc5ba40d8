#include "gradwire/method/note_totals.h"

#include <limits>

#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Type = NoteField::Type;
using How = NoteTotal::How;

const NoteKind& kind() {
  static const NoteKind kind{
      .step_name = "note",
      .run_name = "notes",
      .fields = {{.name = "mood", .type = Type::text, .words = {"good", "bad"}},
                 {.name = "size", .empty = NoteField::Empty::null},
                 {.name = "rows", .type = Type::table}},
      .table = {.row = "row",
                .columns = {{.name = "name", .type = Type::text},
                            {.name = "count", .type = Type::count}}},
      .totals = {{.name = "moods", .how = How::count, .of = "mood"},
                 {.name = "size", .of = "size"},
                 {.name = "mean", .how = How::mean, .of = "size"},
                 {.name = "bad bytes",
                  .how = How::mean,
                  .of = kBytesSent,
                  .only = {{"mood", std::string("bad")}}},
                 {.name = "rows", .of = "rows"},
                 {.name = "with rows", .how = How::count, .of = "rows"}}};
  return kind;
}

Note note(const std::string& mood, NoteValue size, std::vector<std::vector<NoteValue>> rows = {}) {
  Note note(kind());
  note.set("mood", mood);
  note.set("size", std::move(size));
  note.rows = std::move(rows);
  return note;
}

TEST(NoteTotals, OfNoNotesAreZeroAndMeansAreNothing) {
  const NoteTotals totals(kind());
  EXPECT_EQ(totals.notes(), 0u);
  EXPECT_EQ(totals.count("moods", "good"), 0u);
  EXPECT_EQ(totals.totals()[0].entries.size(), 2u);  // the usual ones are there
  EXPECT_EQ(totals.number("size"), 0);
  EXPECT_FALSE(totals.number("mean"));
}

TEST(NoteTotals, SumMeanAndCountByTheirRules) {
  NoteTotals totals(kind());
  const std::string a = "a";
  totals.add(note("bad", 1.0, {{a, std::uint64_t{5}}}), {.bytes_sent = 10});
  totals.add(note("odd", {}, {{a, std::uint64_t{7}}}), {.bytes_sent = 1000});
  totals.add(note("bad", 3.0), {.bytes_sent = 20});
  EXPECT_EQ(totals.notes(), 3u);
  EXPECT_EQ(totals.count("moods", "bad"), 2u);
  EXPECT_EQ(totals.count("moods", "odd"), 1u);
  EXPECT_EQ(totals.number("size"), 4);
  EXPECT_EQ(totals.number("mean"), 2);
  EXPECT_EQ(totals.number("bad bytes"), 15);
  EXPECT_EQ(totals.count("rows", "a"), 12u);
  EXPECT_EQ(totals.number("with rows"), 2);
}

TEST(NoteTotals, MeanLeavesOutWhatIsNotFinite) {
  NoteTotals totals(kind());
  totals.add(note("good", std::numeric_limits<double>::quiet_NaN()), {});
  totals.add(note("good", 2.0), {});
  EXPECT_EQ(totals.number("mean"), 2);
}

}  // namespace
}  // namespace gradwire
