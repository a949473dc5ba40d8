#include "gradwire/kernel/target.h"

#include <gtest/gtest.h>

#include "gradwire/core/error.h"

namespace gradwire::kernel {
namespace {

TEST(Target, IsHeldUntilTheHoldEnds) {
  const std::string best = target_in_use();
  const std::string list = target_list();
  EXPECT_EQ(list.substr(0, best.size()), best);
  const std::string last = list.substr(list.rfind(' ') + 1);  // of one target: npos + 1 is 0
  {
    const HeldTarget held(last);
    EXPECT_EQ(target_in_use(), last);
  }
  EXPECT_EQ(target_in_use(), best);
  {
    const HeldTarget held("");
    EXPECT_EQ(target_in_use(), best);
  }
}

TEST(Target, UnknownOneIsRefusedWithTheList) {
  try {
    const HeldTarget held("avx9");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'avx9'; it has " + target_list()), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gradwire::kernel
