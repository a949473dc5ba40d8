// What the command refuses. The page itself is tried in a browser: watch/page_test.
#include "cli/test_program.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

void expect_wrong_usage(const std::vector<std::string>& arguments, std::string_view what) {
  const Outcome outcome = gradwire(arguments);
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, what)) << outcome.err;
}

TEST(WatchCommand, NonsenseIsWrongUsage) {
  const TestDirectory directory;
  write_text(directory / "file", "x");
  expect_wrong_usage({"watch"}, "DIR|HOST:PORT is required");
  expect_wrong_usage({"watch", directory / "file"}, "is a file: give the directory of a run");
  expect_wrong_usage({"watch", "node1:8470", "node2:8470"},
                     "'node1:8470' is an address: give one address, or directories");
  expect_wrong_usage({"watch", "node1:8470", "--listen", "127.0.0.1:0"},
                     "'node1:8470' is a watcher that serves one already");
  for (const char* address : {"127.0.0.1", "8470", ":8470", "127.0.0.1:http", "127.0.0.1:70000"}) {
    expect_wrong_usage({"watch", directory / ".", "--listen", address},
                       "is no address: give HOST:PORT");
  }
}

TEST(WatchCommand, AWatcherThatIsNotThereAndATokenThatIsNoneAreErrors) {
  const TestDirectory directory;
  const Outcome absent = gradwire({"watch", "127.0.0.1:1", "--json"});
  EXPECT_EQ(absent.exit_code, kFailed);
  EXPECT_TRUE(contains(absent.err, "127.0.0.1:1 does not answer")) << absent.err;
  const Outcome token = gradwire({"watch", directory / ".", "--token-file", directory / "absent"});
  EXPECT_EQ(token.exit_code, kFailed);
  EXPECT_TRUE(contains(token.err, "absent")) << token.err;
  const Outcome host = gradwire({"watch", directory / ".", "--listen", "256.0.0.1:0"});
  EXPECT_EQ(host.exit_code, kFailed);
  EXPECT_TRUE(contains(host.err, "cannot listen at 256.0.0.1")) << host.err;
}

}  // namespace
}  // namespace gradwire::cli
