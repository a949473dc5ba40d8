#include "cli/json.h"

#include <ostream>

namespace gradwire::cli {

void print_json(const Json& document, const Console& console) {
  console.out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace gradwire::cli
