// HostChoice: which ranks share a host, as the user says or as the machines tell. Value type.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct HostChoice {
  // Ranks on the same machine, in the same network namespace, share a host: they share its link.
  bool is_automatic = false;
  // Otherwise: so many hosts, with as many consecutive ranks each. 0: one level.
  std::size_t count = 0;
  // Otherwise: the host of every rank, numbers in the order of the hosts' first ranks.
  std::vector<std::size_t> by_rank = {};

  // "off", "auto", a number of hosts, or "ranks on hosts 0 0 1".
  std::string text() const;
  // Of "off", "auto" or a number. Throws Error.
  static HostChoice of_text(std::string_view text);

  bool operator==(const HostChoice&) const = default;
};

// The host of every rank, counted from 0 in the order of their first ranks. Empty for one level:
// where all ranks share one host, and where none share one. `machines` tells the hosts apart where
// the choice is automatic, by rank. Throws Error for a choice that does not suit so many ranks.
std::vector<std::size_t> hosts_by_rank(const HostChoice& choice,
                                       std::span<const std::string> machines);

}  // namespace gradwire
