#include "reproduce/svg.h"

#include <limits>

#include "gradwire/file/test_text.h"
#include "gtest/gtest.h"

namespace gradwire::reproduce {
namespace {

using Numbers = std::vector<double>;

TEST(Svg, TicksAreRoundAndCoverTheValues) {
  EXPECT_EQ(ticks(0, 10, false), (Numbers{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(3, 97, false), (Numbers{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(ticks(1, 1000, true), (Numbers{1, 10, 100, 1000}));
  EXPECT_EQ(ticks(3, 70, true), (Numbers{2, 5, 10, 20, 50, 100}));
  EXPECT_LE(ticks(1e-13, 1, true).size(), 9u);
}

Picture example() {
  return {.name = "p",
          .title = "bits < bytes",
          .x_label = "x",
          .y_label = "y",
          .log_y = true,
          .curves = {{"first", {0, 1, 2}, {1, 0, 0.01}}, {"second", {0, 2}, {0.5, 0.1}}}};
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(Svg, HasALineALegendAndAnAxisForAll) {
  const std::string svg = svg_of(example());
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_TRUE(contains(svg, ">first</text>"));
  EXPECT_TRUE(contains(svg, ">bits &lt; bytes</text>"));
  EXPECT_TRUE(contains(svg, ">0.1</text>"));
  EXPECT_TRUE(contains(svg, "stroke-dasharray")) << "curves differ in more than colour";
}

TEST(Svg, LeavesOutWhatCannotBeDrawn) {
  EXPECT_EQ(count(svg_of(example()), "<circle"), 4u);  // zero has no place on a logarithmic axis
  Picture picture = example();
  picture.curves[1].y[0] = std::numeric_limits<double>::infinity();
  const std::string svg = svg_of(picture);
  EXPECT_EQ(count(svg, "<circle"), 3u);
  EXPECT_FALSE(contains(svg, "inf"));
  EXPECT_FALSE(contains(svg, "nan"));
}

TEST(Svg, HasColoursForLightAndDarkPages) {
  const std::string svg = svg_of(example());
  EXPECT_TRUE(contains(svg, "prefers-color-scheme:dark"));
  EXPECT_TRUE(contains(svg, "class=\"c1\""));
}

TEST(Svg, NoCurveLiesOnTheFrame) {
  Picture picture = example();
  picture.log_y = false;
  const std::string svg = svg_of(picture);  // the first point is at x = 0, the last one at x = 2
  EXPECT_TRUE(contains(svg, "points=\"92.0,")) << svg;
  EXPECT_TRUE(contains(svg, "<rect x=\"82\""));
}

TEST(Svg, NamesOfPlacesTakeThePlaceOfNumbers) {
  Picture picture = example();
  picture.curves = {{"bits", {1, 2}, {4, 8}}};
  picture.x_names = {"conv1.weight", "fc.bias"};
  const std::string svg = svg_of(picture);
  EXPECT_TRUE(contains(svg, ">conv1.weight</text>"));
  EXPECT_TRUE(contains(svg, ">fc.bias</text>"));
  EXPECT_FALSE(contains(svg, ">1.5</text>"));
}

TEST(Svg, DrawsNothingAndOnePointToo) {
  Picture picture = example();
  picture.curves = {{"one", {1}, {1}}};
  EXPECT_FALSE(contains(svg_of(picture), "nan"));
  picture.curves = {};
  EXPECT_FALSE(contains(svg_of(picture), "nan"));
}

TEST(Svg, LongCurvesAreThinnedOut) {
  Picture picture = example();
  picture.curves = {{"long", Numbers(10'000), Numbers(10'000, 1)}};
  EXPECT_LT(svg_of(picture).size(), 20'000u);
}

}  // namespace
}  // namespace gradwire::reproduce
