#include "console/json.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace gradwire::console {

void print_json(const Json& document, const Console& console) {
  console.out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace gradwire::console
