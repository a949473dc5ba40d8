#include "cli/given_arguments.h"

#include <CLI/CLI.hpp>

#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

TEST(GivenArguments, AreThoseOfTheCommandAsItWasCalled) {
  CLI::App program("", "gradwire");
  auto* const command = program.add_subcommand("bench")->add_subcommand("allreduce");
  std::vector<std::string> methods;
  std::size_t elements = 3;
  std::string input;
  bool json = false;
  bool other = false;
  command->add_option("--method", methods)->allow_extra_args(false);
  command->add_option("--elements", elements)->capture_default_str();
  command->add_option("--input", input);
  std::string hidden;
  command->add_option("--hidden", hidden)->group("");
  command->add_flag("--json", json);
  command->add_flag("--other", other);
  program.parse("bench allreduce --method a --json --method=b --input -x --hidden y");
  EXPECT_EQ(given_arguments(*command),
            (std::vector<std::string>{"bench", "allreduce", "--method", "a", "--method", "b",
                                      "--input", "-x", "--hidden", "y", "--json"}));
}

}  // namespace
}  // namespace gradwire::cli
