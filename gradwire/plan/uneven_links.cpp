#include "gradwire/plan/uneven_links.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "gradwire/collective/owner_shares.h"
#include "gradwire/core/check.h"

namespace gradwire::plan {
namespace {

bool are_equal(const Links& links) {
  return std::ranges::adjacent_find(links.bytes_per_second, std::not_equal_to()) ==
         links.bytes_per_second.end();
}

OwnerShares shares_of(const PlannedExchange& exchange, const Links& links) {
  std::vector<LinkRate> rates;
  for (const double rate : links.bytes_per_second) rates.push_back({.out = rate, .in = rate});
  return owner_shares(rates, {.elements = exchange.elements,
                              .up_bytes = exchange.up_bytes,
                              .down_bytes = exchange.down_bytes,
                              .switch_bytes_per_second = links.switch_bytes_per_second});
}

// With equal shares every link carries as many bytes, so that the thinnest is the last.
double evenly_shared_rate(const PlannedExchange& exchange, const Links& links) {
  const double slowest = std::ranges::min(links.bytes_per_second);
  if (links.switch_bytes_per_second == 0) return slowest;
  return std::min(slowest, links.switch_bytes_per_second / static_cast<double>(exchange.ranks));
}

double owners_rate(const PlannedExchange& exchange, const Links& links) {
  const auto ranks = static_cast<double>(exchange.ranks);
  const double bytes = static_cast<double>(exchange.elements) * (ranks - 1) / ranks *
                       (exchange.up_bytes + exchange.down_bytes);
  return bytes / shares_of(exchange, links).seconds;
}

// The server's link carries what all others send; theirs carry their own part at the same time.
double server_rate(const PlannedExchange& exchange, const Links& links) {
  const double others = static_cast<double>(exchange.ranks) - 1;
  const double slowest = std::ranges::min(links.bytes_per_second.subspan(1));
  double rate = std::min(links.bytes_per_second[0], others * slowest);
  if (links.switch_bytes_per_second > 0) {
    const double part = std::max(exchange.up_bytes, exchange.down_bytes) /
                        (exchange.up_bytes + exchange.down_bytes);
    rate = std::min(rate, links.switch_bytes_per_second * part);
  }
  return rate;
}

}  // namespace

double even_rate(const PlannedExchange& exchange, const Links& links) {
  GW_CHECK(links.bytes_per_second.size() == exchange.ranks);
  const bool is_plain = are_equal(links) && links.switch_bytes_per_second == 0;
  if (is_plain || exchange.ranks < 2 || exchange.elements == 0) return links.bytes_per_second[0];
  const TopologyTraits& traits = traits_of(exchange.topology);
  if (!traits.has_owners) return evenly_shared_rate(exchange, links);
  return traits.shares_evenly ? owners_rate(exchange, links) : server_rate(exchange, links);
}

double bytes_sent(const PlannedExchange& exchange, const Links& links) {
  const TopologyTraits& traits = traits_of(exchange.topology);
  const bool has_shares = traits.has_owners && traits.shares_evenly;
  if (are_equal(links) || !has_shares || exchange.elements == 0 || exchange.ranks < 2) {
    return bytes_sent(exchange);
  }
  double most = 0;
  for (const double share : shares_of(exchange, links).shares) {
    const double others = static_cast<double>(exchange.ranks) - 1;
    most = std::max(most, exchange.up_bytes * (1 - share) + exchange.down_bytes * others * share);
  }
  return most * static_cast<double>(exchange.elements);
}

}  // namespace gradwire::plan
