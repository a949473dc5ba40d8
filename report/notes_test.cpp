#include "report/notes.h"

#include "gtest/gtest.h"
#include "report/json_values.h"
#include "report/note_test_support.h"

namespace gradwire::report {
namespace {

using Runs = std::vector<Run>;  // in a test's body Run is GoogleTest's
using Rows = std::vector<std::vector<NoteValue>>;

TEST(Notes, HaveASectionForEachKindAndAnEntryForEachRun) {
  Runs runs(3);
  runs[0].steps = {{.step = 1, .note = stack_note("full", {{"all", 5}})}};
  runs[2].steps = {noted(1, map_kind(), Rows{{std::string("a"), {}, {}, 2.0}}),
                   {.step = 2, .note = stack_note("coded", {{"all", 1}})}};
  const Json sections = notes_of(runs);
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0]["name"], "load");
  EXPECT_EQ(sections[0]["view"], "stack");
  EXPECT_EQ(sections[0]["title"], "Load");
  EXPECT_EQ(sections[0]["unit"], "bytes");
  EXPECT_EQ(sections[0]["runs"].size(), 3u);
  EXPECT_TRUE(sections[0]["runs"][1].is_null());
  EXPECT_EQ(sections[0]["runs"][2]["heights"], Json::array({1.0}));
  EXPECT_EQ(sections[1]["view"], "map");
  EXPECT_TRUE(sections[1]["runs"][0].is_null());
  EXPECT_TRUE(notes_of({}).empty());
}

TEST(Notes, WithoutAPictureTheLastOneIsShownAsItIs) {
  Runs runs(1);
  runs[0].steps = {noted(3, plain_kind(), Rows{{std::string("a"), std::uint64_t{7}, {}, 2.0}}),
                   noted(9, plain_kind(), Rows{{std::string("b"), std::uint64_t{8}, {}, 0.1}})};
  runs[0].steps[1].note->set("reason", std::string("why"));
  const Json section = notes_of(runs)[0];
  EXPECT_EQ(section["view"], "table");
  const Json& note = section["runs"][0];
  EXPECT_EQ(note["step"], 9);
  EXPECT_EQ(note["notes"], 2);
  EXPECT_EQ(note["fields"].dump(), R"([{"name":"reason","unit":"","value":"why"}])");
  EXPECT_EQ(note["columns"][3].dump(), R"({"name":"bits","unit":"bits"})");
  EXPECT_EQ(note["rows"].dump(), R"([["b",8.0,null,0.1]])");
}

}  // namespace
}  // namespace gradwire::report
