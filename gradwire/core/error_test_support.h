// For tests of what a caller is told.
#pragma once

#include <string>

#include "gradwire/core/error.h"

namespace gradwire {

// The message of the Error that the call throws; empty if it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace gradwire
