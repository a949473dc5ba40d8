#include "reproduce/data_there.h"

#include "data/source.h"
#include "gradwire/core/error.h"

namespace gradwire::reproduce {

bool is_data_there(const std::string& name) {
  try {
    data::open_source(name, {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace gradwire::reproduce
