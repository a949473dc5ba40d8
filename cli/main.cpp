#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  const gradwire::console::Console console{
      .out = std::cout, .err = std::cerr, .err_is_terminal = isatty(STDERR_FILENO) == 1};
  return gradwire::cli::run_program(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), console);
}
