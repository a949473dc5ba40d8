#include "gradwire/collective/host_choice.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// Nothing where one level is all there is.
std::vector<std::size_t> two_levels(std::vector<std::size_t> hosts, std::size_t count) {
  if (count == 1 || count == hosts.size()) return {};
  return hosts;
}

std::vector<std::size_t> checked(std::vector<std::size_t> hosts, std::size_t ranks) {
  std::size_t count = 0;
  bool is_in_order = hosts.size() == ranks;
  for (const std::size_t host : hosts) {
    is_in_order = is_in_order && host <= count;
    count = std::max(count, host + 1);
  }
  if (is_in_order) return two_levels(std::move(hosts), count);
  throw Error("the hosts of " + std::to_string(ranks) +
              " ranks are as many numbers, from 0 on in the order of the hosts' first ranks");
}

}  // namespace

std::string HostChoice::text() const {
  if (is_automatic) return "auto";
  if (!by_rank.empty()) {
    std::string text = "ranks on hosts";
    for (const std::size_t host : by_rank) text += ' ' + std::to_string(host);
    return text;
  }
  return count == 0 ? "off" : std::to_string(count);
}

HostChoice HostChoice::of_text(std::string_view text) {
  if (text == "auto") return {.is_automatic = true};
  if (text == "off") return {};
  HostChoice choice;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, choice.count);
  if (error != std::errc() || rest != end || choice.count == 0) {
    throw Error("'" + std::string(text) +
                "' is no choice of hosts: take auto, off, or their number");
  }
  return choice;
}

std::vector<std::size_t> hosts_by_rank(const HostChoice& choice,
                                       std::span<const std::string> machines) {
  const std::size_t ranks = machines.size();
  if (choice == HostChoice()) return {};
  if (!choice.is_automatic && !choice.by_rank.empty()) return checked(choice.by_rank, ranks);
  if (!choice.is_automatic && (choice.count > ranks || ranks % choice.count != 0)) {
    throw Error(std::to_string(choice.count) + " hosts cannot share " + std::to_string(ranks) +
                " ranks equally: take a number that divides them");
  }
  std::vector<std::size_t> hosts;
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first =
        static_cast<std::size_t>(std::ranges::find(machines, machines[rank]) - machines.begin());
    if (!choice.is_automatic) {
      hosts.push_back(rank * choice.count / ranks);
    } else {
      hosts.push_back(first < rank ? hosts[first] : count);
    }
    count = std::max(count, hosts.back() + 1);
  }
  return two_levels(std::move(hosts), count);
}

}  // namespace gradwire
