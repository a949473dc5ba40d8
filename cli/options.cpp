#include "cli/options.h"

#include <algorithm>
#include <thread>

namespace gradwire::cli {

std::size_t machine_threads() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
}

CLI::Option* add_json_option(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "Print one JSON document on stdout, nothing else");
}

CLI::Option* add_threads_option(CLI::App& command, std::size_t& threads) {
  return add_count_option(command, "--threads", threads, kThreadsMax,
                          "Threads that share the work");
}

CLI::Option* add_count_option(CLI::App& command, const char* name, std::size_t& count,
                              std::size_t most, const char* what) {
  return command.add_option(name, count, what)
      ->check(CLI::Range(std::size_t{1}, most).description(""))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace gradwire::cli
