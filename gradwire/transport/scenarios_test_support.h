// For tests: what every transport must do, as scenarios that all ranks of a group run together.
// They throw std::runtime_error with the reason when a claim does not hold. Used by the test suite,
// where ranks are threads, and by the program `ranks`, where they are processes.
#pragma once

#include <span>

#include "gradwire/transport/transport.h"

namespace gradwire {

struct TransportScenario {
  const char* name;  // of letters, as a test is called
  void (*run)(Transport& transport);
};

std::span<const TransportScenario> transport_scenarios();

// Runs it, and waits until all ranks have: the scenarios may follow one another. What is thrown
// names the scenario and the rank.
void run_scenario(const TransportScenario& scenario, Transport& transport);

}  // namespace gradwire
