#include <set>

#include "cli/test_program.h"
#include "gradwire/method/method.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

TEST(MethodsCommand, ListsEveryExampleWithItsMemory) {
  const Outcome table = gradwire({"methods"});
  const Outcome json = gradwire({"methods", "--json"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_EQ(json.exit_code, 0);
  const auto methods = json.json()["methods"];
  ASSERT_EQ(methods.size(), example_methods().size());
  std::set<std::string> names;
  for (const auto& method : methods) {
    const std::string spec = method["spec"];
    EXPECT_NE(table.out.find(spec), std::string::npos) << spec;
    EXPECT_FALSE(method["topologies"].empty());
    names.insert(spec.substr(0, spec.find('(')));
  }
  for (const char* name : {"direct", "ef", "ef21", "diana", "dgc", "powersgd", "lasg", "sasg"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace gradwire::cli
