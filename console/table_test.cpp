#include "console/table.h"

#include <limits>

#include "console/format.h"
#include "gtest/gtest.h"

namespace gradwire::console {
namespace {

TEST(Table, AlignsColumnsAndStandsHeadingsOnTheRule) {
  Table table({{.heading = "codec", .align = Table::Align::left},
               {.heading = "size\nbytes"},
               {.heading = "note", .align = Table::Align::left}});
  table.add_row({"natural", "9", "small"});
  table.add_row({"none", "1,000,000", ""});
  EXPECT_EQ(table.text(),
            "              size\n"
            "codec        bytes  note\n"
            "-------  ---------  -----\n"
            "natural          9  small\n"
            "none     1,000,000\n");
}

TEST(Table, WithoutRowsIsItsHeadings) {
  EXPECT_EQ(Table({{.heading = "frame"}, {.heading = "bytes"}}).text(),
            "frame  bytes\n"
            "-----  -----\n");
}

TEST(Format, ThousandsAreSeparatedByCommas) {
  EXPECT_EQ(thousands(0), "0");
  EXPECT_EQ(thousands(999), "999");
  EXPECT_EQ(thousands(1000), "1,000");
  EXPECT_EQ(thousands(16'777'216), "16,777,216");
  EXPECT_EQ(thousands(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Format, NumbersHaveTheDigitsAskedForAndWhatIsNoneIsADash) {
  EXPECT_EQ(fixed(4.0625, 3), "4.062");
  EXPECT_EQ(significant(0.000294123, 3), "0.000294");
  EXPECT_EQ(fixed(std::numeric_limits<double>::quiet_NaN(), 3), "-");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity(), 3), "-");
}

TEST(Table, LongTextIsFolded) {
  Table table({{.heading = "name", .align = Table::Align::left},
               {.heading = "text", .align = Table::Align::left}});
  table.add_row({"a", "some words that do not fit on a line"});
  EXPECT_EQ(
      table.text(28),
      "name  text\n----  ----------------------\na     some words that do not\n      fit on a "
      "line\n");
}

TEST(Table, WideTableIsCutAndRepeatsItsFirstColumn) {
  Table table(
      {{.heading = "name", .align = Table::Align::left}, {.heading = "one"}, {.heading = "two"}});
  table.add_row({"a", "1", "2"});
  EXPECT_EQ(table.text(9), "name  one\n----  ---\na       1\n\nname  two\n----  ---\na       2\n");
  EXPECT_EQ(table.text(14), table.text());
}

}  // namespace
}  // namespace gradwire::console
