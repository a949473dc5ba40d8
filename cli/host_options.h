// The options of commands that start workers on other hosts. The variables must outlive the call to
// parse.
#pragma once

#include <string>
#include <vector>

#include "launch/hosts.h"

namespace CLI {
class App;
}

namespace gradwire::cli {

struct HostArguments {
  std::string hosts;  // empty: no other hosts
  launch::HostsOptions options;

  // The options with the list of hosts and the forwarded variables in them. Throws UsageError.
  launch::HostsOptions parsed() const;
};

void add_host_options(CLI::App& app, HostArguments& arguments);

}  // namespace gradwire::cli
