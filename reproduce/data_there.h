// Whether a data set that not everybody has is on this machine.
#pragma once

#include <string>

namespace gradwire::reproduce {

// By opening it: true where train would find "mnist" or "cifar10".
bool is_data_there(const std::string& name);

}  // namespace gradwire::reproduce
