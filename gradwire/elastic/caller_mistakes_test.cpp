// What a caller can do wrong, and what it is told.
#include "gradwire/core/error_test_support.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/elastic/elastic_group.h"
#include "gradwire/elastic/hub.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

ElasticCallbacks callbacks() {
  return {.apply = [](const ElasticUpdate&) {},
          .save = [] { return std::vector<std::byte>(); },
          .load = [](std::span<const std::byte>) {}};
}

std::string failure(std::string_view spec, const ElasticOptions& options = {},
                    const ElasticCallbacks& with = callbacks()) {
  try {
    const ElasticGroup group({{"weights", {64}}}, spec, options, with);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ElasticMistakes, MethodsThatCannotRepeatAStepAreNamed) {
  for (const char* spec : {"dgc(1%)", "powersgd(rank=2)", "lasg(none)", "adam(sign)",
                           "local(none, after=10)", "local(none, delay=2)"}) {
    EXPECT_NE(failure(spec).find("while ranks come and go"), std::string::npos)
        << spec << ": " << failure(spec);
  }
}

TEST(ElasticMistakes, CallbacksAndAddresses) {
  EXPECT_NE(failure("none", {}, {}).find("callbacks"), std::string::npos);
  EXPECT_NE(failure("none", {.listen = "nowhere"}).find("host:port"), std::string::npos);
  EXPECT_NE(failure("none", {.join = {"nowhere"}}).find("host:port"), std::string::npos);
  EXPECT_NE(failure("none", {.global_batch = 0}).find("global batch"), std::string::npos);
}

TEST(ElasticMistakes, ANewcomerThatFindsNobodySaysSo) {
  const std::string text =
      failure("none", {.join = {"127.0.0.1:1"}, .wait = std::chrono::milliseconds(700)});
  EXPECT_NE(text.find("could not join"), std::string::npos) << text;
}

TEST(ElasticMistakes, AnAddressHasAHostAndAPort) {
  EXPECT_EQ(elastic::parse_host_port("[::1]:29400").host, "::1");
  EXPECT_EQ(elastic::parse_host_port("node3:29400").port, 29400);
  for (const char* wrong : {"", ":", "host", "host:", "host:port", ":29400", "host:70000"}) {
    EXPECT_THROW(elastic::parse_host_port(wrong), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace gradwire
