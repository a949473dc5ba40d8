#include "report/page.h"

#include <cmath>

#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/json_file.h"
#include "report/document.h"
#include "report/escape.h"
#include "report/facts.h"
#include "report/page_template.h"

namespace gradwire::report {
namespace {

// In a test's body Run is GoogleTest's.
using Runs = std::vector<Run>;

using record::Json;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Run run_named(const std::string& name) {
  Run run{.name = name};
  run.record.method = name;
  run.record.configuration = {{"model", name}};
  return run;
}

// The document that a page carries.
Json document_in(const std::string& page) {
  const std::string_view before = "id=\"document\">";
  const std::size_t begin = page.find(before) + before.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Escape, NoTextCanEndTheScriptOrBeginAComment) {
  const std::string text = "</script><!--<script>\xe2\x80\xa8\"'&\\";
  const std::string escaped = script_json({{"name", text}});
  EXPECT_EQ(escaped.find('<'), escaped.npos);
  EXPECT_EQ(Json::parse(escaped)["name"], text);
}

TEST(Escape, BytesThatAreNoUtf8AndNumbersThatAreNotFiniteAreReplaced) {
  EXPECT_EQ(script_json({{"a", "\xff"}, {"b", std::nan("")}}),
            "{\"a\":\"\xef\xbf\xbd\",\"b\":null}");
}

TEST(Escape, HtmlHasNoMarkupLeft) {
  EXPECT_EQ(html_text("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

TEST(Page, TemplateHasItsPlacesOnceAndTheLicenceOfWhatItBrings) {
  EXPECT_EQ(count(page_template(), kTitlePlace), 1u);
  EXPECT_EQ(count(page_template(), kDocumentPlace), 1u);
  EXPECT_EQ(count(page_template(), "Permission is hereby granted, free of charge"), 1u);
  EXPECT_EQ(count(page_template(), " src="), 0u);  // everything is inside
  EXPECT_EQ(count(page_template(), "<link"), 0u);
}

TEST(Page, HostileNamesStayTexts) {
  const std::string name = "</script></title><script>alert(1)</script>";
  const std::string page = make_page(Runs{run_named(name)});
  EXPECT_EQ(count(page, "<script>alert(1)"), 0u);
  EXPECT_EQ(count(page, "<title>&lt;/script&gt;"), 1u);
  EXPECT_EQ(document_in(page)["runs"][0], name);
}

TEST(Page, NameThatLooksLikeAPlaceIsATextToo) {
  const std::string page = make_page(Runs{run_named("@GRADWIRE_DOCUMENT@")});
  EXPECT_EQ(document_in(page)["runs"][0], "@GRADWIRE_DOCUMENT@");
}

TEST(Page, BestValuesAreMarkedOnceAllRunsHaveFinished) {
  Runs runs{run_named("few"), run_named("many")};
  runs[0].record.traffic.bytes_sent = 1'000'000;
  runs[1].record.traffic.bytes_sent = 9'000'000;
  const auto marks = [&] {
    const Json document = make_document(runs);
    std::size_t count = 0;
    for (const Json& column : document["columns"]) count += column["best"].size();
    return count;
  };
  EXPECT_GT(marks(), 0u);
  runs[0].record.is_finished = false;
  EXPECT_EQ(marks(), 0u);
}

TEST(Page, IsWrittenAsOneFile) {
  const TestDirectory directory;
  write_page(directory / "report.html", {});
  EXPECT_EQ(directory.names(), std::vector<std::string>{"report.html"});
  EXPECT_EQ(read_text(directory / "report.html"), make_page({}));
}

TEST(Document, EvaluationsAreNeverThinned) {
  auto run = run_named("natural");
  for (std::uint64_t step = 1; step <= 5000; ++step) {
    run.steps.push_back({.step = step, .metrics = {.loss = 1, .accuracy = 0.5}});
  }
  const Json charts = make_document(Runs{run})["charts"];
  ASSERT_EQ(charts.size(), 2u);
  EXPECT_EQ(charts[0]["curves"][0]["y"].size(), 5000u);
  EXPECT_LE(charts[1]["curves"][0]["y"].size(), 600u);
  EXPECT_EQ(charts[1]["averaged"], true);
}

TEST(Document, AxisOnWhichNoRunMovesIsLeftOut) {
  auto run = run_named("none");
  run.steps.push_back({.step = 1, .metrics = {.loss = 1}, .seconds = 1});
  const Json axes = make_document(Runs{run})["axes"];
  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[0]["name"], "Steps");
  EXPECT_EQ(axes[1]["name"], "Measured time");
}

TEST(Document, LongestBarIsAHundredPercent) {
  Runs runs = {run_named("a"), run_named("b"), run_named("c")};
  for (std::size_t i = 0; i < 2; ++i) runs[i].record.steps = 10;
  runs[0].record.phases = {.compute_seconds = 3, .encode_seconds = 1};
  runs[1].record.phases = {.compute_seconds = 1, .exchange_seconds = 1};
  const Json bars = make_document(runs)["bars"];
  EXPECT_EQ(bars[0]["percent"], (Json{75.0, 25.0, 0.0, 0.0}));
  EXPECT_EQ(bars[1]["ms"], (Json{100.0, 0.0, 100.0, 0.0}));
  EXPECT_TRUE(bars[2].is_null());  // no steps
}

TEST(Facts, AreWhatRecordsSayAndWhereTheyDifferAllOfIt) {
  Runs runs = {run_named("cnn"), run_named("cnn")};
  runs[0].record.steps = runs[1].record.steps = 20'000;
  runs[0].record.configuration["transport"] = "tcp";
  runs[1].record.configuration["transport"] = "mpi";
  runs[1].record.configuration["topology"] = Json::array();  // of a type nobody expects
  EXPECT_EQ(title_of(runs), "cnn");
  EXPECT_EQ(facts_of(runs), (std::vector<Fact>{{"Steps", "20,000"}, {"Transport", "tcp, mpi"}}));
  EXPECT_EQ(title_of({}), "Training");
}

}  // namespace
}  // namespace gradwire::report
