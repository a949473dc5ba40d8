#include "gradwire/transport/route.h"

#include "gradwire/transport/transport.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

std::string failure_of(void (*call)()) {
  try {
    call();
  } catch (const StartError& error) {
    return error.what();
  }
  return "";
}

TEST(Route, ToThisHostIsLoopback) {
  EXPECT_EQ(local_address_towards("127.0.0.1", 29500), "127.0.0.1");
  EXPECT_TRUE(is_loopback(local_address_towards("localhost", 29500)));
}

TEST(Route, OfAHostThatNobodyKnowsIsAnError) {
  const std::string failure =
      failure_of([] { local_address_towards("no-such-host.invalid", 29500); });
  EXPECT_TRUE(failure.starts_with("there is no way from here to no-such-host.invalid: "))
      << failure;
}

TEST(Route, LoopbackIsKnownByItsAddress) {
  EXPECT_TRUE(is_loopback("127.0.1.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("10.127.0.1"));
  EXPECT_FALSE(is_loopback("fe80::1%eth0"));
}

TEST(Route, AMissingInterfaceIsAnErrorThatNamesTheOthers) {
  check_interface("lo");
  const std::string failure = failure_of([] { check_interface("nosuch0"); });
  EXPECT_TRUE(failure.starts_with("there is no network interface nosuch0 here, only ")) << failure;
  EXPECT_NE(failure.find("lo"), std::string::npos);
}

}  // namespace
}  // namespace gradwire
