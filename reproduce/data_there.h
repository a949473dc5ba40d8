// Tells whether an optional data set is on this machine.
#pragma once

#include <string>

namespace gradwire::reproduce {

// Opens it: true if train would find "mnist" or "cifar10".
bool is_data_there(const std::string& name);

}  // namespace gradwire::reproduce
