#include "console/progress.h"

#include <sstream>

#include "gtest/gtest.h"

namespace gradwire::console {
namespace {

TEST(Progress, TerminalGetsALiveLineThatIsWipedAtTheEnd) {
  std::ostringstream out, err;
  const Console console{.out = out, .err = err, .err_is_terminal = true};
  {
    Progress progress(console, "bench codec", 4);
    progress.step("natural");
  }
  EXPECT_EQ(err.str(), "\r\x1b[Kbench codec: 0% (natural)\r\x1b[K");
  EXPECT_EQ(out.str(), "");
}

TEST(Progress, LogOfAShortCommandStaysEmpty) {
  std::ostringstream out, err;
  const Console console{.out = out, .err = err};
  {
    Progress progress(console, "bench codec", 4);
    progress.step("natural");
  }
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace gradwire::console
