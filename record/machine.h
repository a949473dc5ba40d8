// What a run record says about the machine and about what the program was built with.
#pragma once

#include "record/json_file.h"

namespace gradwire::record {

// {"cpus", "compiler", "system"}
Json describe_machine();

}  // namespace gradwire::record
