#include <chrono>
#include <cstdio>

#include "gradwire/collective/communicator.h"
#include "tests/ranks/commands.h"
#include "tests/ranks/identity.h"
#include "tests/ranks/rank.h"

namespace gradwire::ranks {

int identity_command(Arguments arguments) {
  IdentityList list = IdentityList::usual;
  for (const std::string& argument : arguments) {
    if (argument == "--quick") {
      list = IdentityList::quick;
    } else if (argument == "--full") {
      list = IdentityList::full;
    } else {
      throw Error("identity takes --quick or --full, not " + argument);
    }
  }
  Communicator communicator(transport_from_environment(), {.run = 7});
  run_identity(communicator, list, [&](const std::string& line) {
    if (communicator.rank() == 0) std::printf("%s\n", line.c_str());
  });
  communicator.close();
  return 0;
}

}  // namespace gradwire::ranks
