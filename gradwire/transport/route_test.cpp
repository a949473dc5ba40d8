#include "gradwire/transport/route.h"

#include "gradwire/transport/transport.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

TEST(Route, KnowsPublicAddresses) {
  for (const char* address :
       {"8.8.8.8", "172.32.0.1", "192.169.0.1", "100.128.0.1", "2001:db8::1"}) {
    EXPECT_TRUE(is_public(address)) << address;
  }
  for (const char* address :
       {"127.0.0.1", "10.1.2.3", "172.31.255.255", "192.168.1.1", "100.64.0.1", "169.254.1.1",
        "0.0.0.0", "::1", "fe80::1%eth0", "fd00::1", "node3"}) {
    EXPECT_FALSE(is_public(address)) << address;
  }
}

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
