#include "record/machine.h"

#include <sys/utsname.h>

#include <string>
#include <thread>

namespace gradwire::record {
namespace {

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("gcc ") + __VERSION__;
#else
  return "unknown";
#endif
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

}  // namespace

Json describe_machine() {
  return {{"cpus", std::thread::hardware_concurrency()},
          {"compiler", compiler()},
          {"system", system_name()}};
}

}  // namespace gradwire::record
