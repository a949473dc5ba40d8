// Links of different rates, and a switch that is the bottleneck, for the cost model: the rate at
// which equal links would take as long for the bytes of an exchange. Pure functions.
#pragma once

#include <span>

#include "gradwire/plan/cost_model.h"

namespace gradwire::plan {

struct Links {
  std::span<const double> bytes_per_second;  // of each rank's link, each way; at least one
  double switch_bytes_per_second = 0;        // of all links together; 0: it keeps up
};

// With scatter, owners share the elements as owner_shares() says. With server, rank 0 is the
// server. If all links are equal and the switch keeps up, this is their rate.
double even_rate(const PlannedExchange& exchange, const Links& links);

// As plan::bytes_sent, with the shares of the owners.
double bytes_sent(const PlannedExchange& exchange, const Links& links);

}  // namespace gradwire::plan
