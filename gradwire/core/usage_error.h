// UsageError: a call that cannot be served as it was made.
#pragma once

#include "gradwire/core/error.h"

namespace gradwire {

// The caller's arguments are fine one by one but make no sense together, or not here. The program
// ends with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace gradwire
