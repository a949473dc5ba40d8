#include "launch/line_relay.h"

#include <unistd.h>

#include <string_view>

#include "gtest/gtest.h"

namespace gradwire::launch {
namespace {

struct RelayTest : testing::Test {
  Pipe in = make_pipe();
  Pipe out = make_pipe();

  void say(std::string_view text) {
    ASSERT_EQ(write(in.write.number(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  // What has come out since the last call.
  std::string heard() {
    char bytes[4096];
    say_mark();
    const auto count = read(out.read.number(), bytes, sizeof(bytes));
    std::string text(bytes, static_cast<std::size_t>(count));
    text.pop_back();  // the mark
    return text;
  }

 private:
  void say_mark() { ASSERT_EQ(write(out.write.number(), "#", 1), 1); }
};

TEST_F(RelayTest, EveryLineHasTheLabelInFront) {
  LineRelay relay(std::move(in.read), out.write.number(), "[3] ");
  say("one\ntwo\nthr");
  relay.pass_on();
  EXPECT_EQ(heard(), "[3] one\n[3] two\n");
  say("ee\n");
  relay.pass_on();
  EXPECT_EQ(heard(), "[3] three\n");
  say("unfinished");
  in.write.close();
  relay.pass_on();
  EXPECT_EQ(heard(), "[3] unfinished\n");
  EXPECT_LT(relay.descriptor(), 0);
}

TEST_F(RelayTest, WithoutALabelBytesPassAsTheyAre) {
  LineRelay relay(std::move(in.read), out.write.number(), "");
  say("{\"a\":");
  relay.pass_on();
  EXPECT_EQ(heard(), "{\"a\":");
}

}  // namespace
}  // namespace gradwire::launch
