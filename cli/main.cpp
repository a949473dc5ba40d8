#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/matrix_kernels.h"
#include "cli/program.h"

namespace {

// Those of the terminal; 80 for files and pipes.
std::size_t output_columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : kUsual;
}

}  // namespace

int main(int argc, char** argv) {
  gradwire::cli::choose_matrix_kernels();
  const gradwire::console::Console console{.out = std::cout,
                                           .err = std::cerr,
                                           .err_is_terminal = isatty(STDERR_FILENO) == 1,
                                           .columns = output_columns()};
  return gradwire::cli::run_program(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), console);
}
