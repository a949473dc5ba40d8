#include <algorithm>

#include "gradwire/transport/scenarios_test_support.h"
#include "tests/ranks/commands.h"
#include "tests/ranks/rank.h"

namespace gradwire::ranks {

int transport_command(Arguments arguments) {
  return run_rank([&](Transport& transport) {
    const auto scenario_of = [](const std::string& name) {
      const auto scenarios = transport_scenarios();
      const auto found = std::ranges::find(scenarios, name, &TransportScenario::name);
      if (found == scenarios.end()) throw Error("there is no scenario " + name);
      return *found;
    };
    if (arguments.empty()) {
      for (const TransportScenario& scenario : transport_scenarios()) {
        run_scenario(scenario, transport);
      }
    }
    for (const std::string& name : arguments) run_scenario(scenario_of(name), transport);
  });
}

}  // namespace gradwire::ranks
