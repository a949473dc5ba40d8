#include "report/note_map.h"

#include "gtest/gtest.h"
#include "report/note_test_support.h"

namespace gradwire::report {
namespace {

using NotedRun = Run;  // in a test's body Run is GoogleTest's
using Rows = std::vector<std::vector<NoteValue>>;

std::vector<NoteValue> row(const std::string& name, NoteValue elements = {}, NoteValue bits = {}) {
  return {name, std::move(elements), std::string("x"), std::move(bits)};
}

Json map_in(const Run& run) {
  return map_of(std::get<NoteMapView>(map_kind().view.kind), notes_of_kind(map_kind(), run));
}

TEST(NoteMap, KeepsTheFirstAndTheLastOfManyNotes) {
  NotedRun run;
  for (std::uint64_t step = 0; step <= 1000; ++step) {
    run.steps.push_back(noted(
        step, map_kind(), Rows{row("a", std::uint64_t{3}, 8.0), row("b", std::uint64_t{1}, 4.0)}));
  }
  const Json shown = map_in(run);
  EXPECT_EQ(shown["notes"], 1001);
  EXPECT_EQ(shown["steps"].size(), kMapNotesMax);
  EXPECT_EQ(shown["steps"].front(), 0);
  EXPECT_EQ(shown["steps"].back(), 1000);
  EXPECT_EQ(shown["overall"][0], 7.0);
  EXPECT_EQ(shown["rows"][1]["values"][59], 4.0);
  EXPECT_EQ(shown["rows"][1]["details"][59], "x");
}

TEST(NoteMap, WhatIsNotThereIsNull) {
  NotedRun run;
  EXPECT_TRUE(map_in(run).is_null());
  run.steps = {noted(1, map_kind(), {})};
  EXPECT_TRUE(map_in(run).is_null());
  run.steps = {noted(1, map_kind(), Rows{row("a")}), noted(2, map_kind(), Rows{row("b", {}, 2.0)})};
  const Json shown = map_in(run);
  EXPECT_TRUE(shown["rows"][0]["values"][0].is_null());
  EXPECT_TRUE(shown["rows"][0]["values"][1].is_null());
  EXPECT_TRUE(shown["overall"][0].is_null());
}

TEST(NoteMap, NotesWithoutRowsAreLeftOut) {
  NotedRun run;
  run.steps = {noted(20, map_kind(), {}),
               {.step = 21},
               noted(24, map_kind(), Rows{row("a", std::uint64_t{10}, 4.0)})};
  const Json shown = map_in(run);
  EXPECT_EQ(shown["notes"], 1);
  EXPECT_EQ(shown["steps"], Json::array({24}));
  EXPECT_EQ(shown["rows"][0]["values"], Json::array({4.0}));
}

}  // namespace
}  // namespace gradwire::report
