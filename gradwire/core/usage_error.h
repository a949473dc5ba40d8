// UsageError: wrong use of the program.
#pragma once

#include "gradwire/core/error.h"

namespace gradwire {

// Options that are valid one by one but contradict one another or the environment. The program ends
// with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace gradwire
