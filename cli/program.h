// The program gradwire without its main(): takes the arguments apart, runs the command that they
// name, and turns everything that fails into a message and an exit code. Lets no exception out.
#pragma once

#include <string>
#include <vector>

#include "console/console.h"

namespace gradwire::cli {

// launch/exit_codes.h has two more.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

// Thrown by a command that has said everything itself.
class ExitCode {
 public:
  explicit ExitCode(int number) : number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

// The arguments are those behind the program's name.
int run_program(std::vector<std::string> arguments, const console::Console& console);

}  // namespace gradwire::cli
