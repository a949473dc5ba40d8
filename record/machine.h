// The description of the machine and of the compiler in run records.
#pragma once

#include "record/json_file.h"

namespace gradwire::record {

// {"cpus", "compiler", "system"}
Json describe_machine();

}  // namespace gradwire::record
