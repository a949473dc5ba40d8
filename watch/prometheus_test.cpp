#include "watch/prometheus.h"

#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "gradwire/file/test_text.h"
#include "gtest/gtest.h"

namespace gradwire::watch {
namespace {

RunState some_run() {
  return {.name = "natural",
          .directory = "a",
          .phase = RunState::Phase::running,
          .step = 12,
          .steps_seen = 12,
          .workers = 4,
          .metrics = {.loss = 0.25},
          .traffic = {.bytes_sent = 1'234'567'890'123},
          .phases = {.encode_seconds = 1.5}};
}

TEST(Prometheus, SamplesHaveTheirHelpAndTypeAbove) {
  const std::vector<RunState> runs = {some_run()};
  const std::string text = prometheus_text(runs);
  EXPECT_TRUE(contains(text,
                       "# HELP gradwire_step The last step of the run.\n"
                       "# TYPE gradwire_step gauge\n"
                       "gradwire_step{run=\"natural\",directory=\"a\"} 12\n"));
  EXPECT_TRUE(contains(text, "gradwire_loss{run=\"natural\",directory=\"a\"} 0.25\n"));
  EXPECT_TRUE(contains(text,
                       "# TYPE gradwire_sent_bytes_total counter\n"
                       "gradwire_sent_bytes_total{run=\"natural\",directory=\"a\"} "
                       "1234567890123\n"));
  EXPECT_TRUE(
      contains(text, "gradwire_encode_seconds_total{run=\"natural\",directory=\"a\"} 1.5\n"));
  EXPECT_TRUE(contains(text, ",state=\"running\"} 1\n"));
  EXPECT_TRUE(contains(text, ",state=\"finished\"} 0\n"));
}

TEST(Prometheus, UnknownValuesHaveNoSample) {
  const std::vector<RunState> runs = {RunState{.name = "x"}};
  const std::string text = prometheus_text(runs);
  for (const char* name :
       {"gradwire_loss", "gradwire_accuracy", "gradwire_steps_planned", "gradwire_workers",
        "gradwire_views_total", "gradwire_last_update_timestamp_seconds", "gradwire_note"}) {
    EXPECT_FALSE(contains(text, name)) << name;
  }
  EXPECT_EQ(prometheus_text({}), "");
}

TEST(Prometheus, LabelsAreEscaped) {
  RunState run = some_run();
  run.name = "a\\b\"c\nd\xff";
  const std::string text = prometheus_text(std::vector{run});
  EXPECT_TRUE(contains(text, "run=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\""));
}

TEST(Prometheus, NumbersThatAreNotFiniteAreWrittenAsThePageOfTheFormatSays) {
  RunState run = some_run();
  run.metrics.loss = std::numeric_limits<double>::quiet_NaN();
  run.metrics.test_loss = std::numeric_limits<double>::infinity();
  run.metrics.gap = -std::numeric_limits<double>::infinity();
  const std::string text = prometheus_text(std::vector{run});
  EXPECT_TRUE(contains(text, "gradwire_loss{run=\"natural\",directory=\"a\"} NaN\n"));
  EXPECT_TRUE(contains(text, "gradwire_test_loss{run=\"natural\",directory=\"a\"} +Inf\n"));
  EXPECT_TRUE(contains(text, "gradwire_gap{run=\"natural\",directory=\"a\"} -Inf\n"));
}

// The grammar of the text format: each line is a comment or a sample, samples of a metric are
// together, and no metric comes twice.
TEST(Prometheus, EveryLineIsOfTheFormat) {
  RunState elastic = some_run();
  elastic.name = "ef(topk(1%) | natural)";
  elastic.directory = "b";
  elastic.is_elastic = true;
  elastic.notes = {{"code", "learn_ms", 12.5}, {"code", "phases", 3}};
  std::istringstream lines(prometheus_text(std::vector{some_run(), elastic}));
  const std::regex sample(
      R"re(([a-z_]+)\{([a-z]+="([^"\\]|\\.)*",?)+\} (-?[0-9.e+-]+|NaN|[+-]Inf))re");
  const std::regex comment(R"(# (HELP|TYPE) ([a-z_]+) .+)");
  std::set<std::string> seen;
  std::string current;
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (std::regex_match(line, parts, comment)) {
      if (parts[1] == "TYPE") {
        EXPECT_EQ(parts[2], current);
        continue;
      }
      current = parts[2];
      EXPECT_TRUE(seen.insert(current).second) << current;
      continue;
    }
    ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
    EXPECT_EQ(parts[1], current);
  }
  EXPECT_TRUE(seen.contains("gradwire_note"));
  EXPECT_TRUE(seen.contains("gradwire_members_lost_total"));
}

}  // namespace
}  // namespace gradwire::watch
