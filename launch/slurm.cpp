#include "launch/slurm.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

#include "gradwire/core/usage_error.h"

namespace gradwire::launch {
namespace {

constexpr std::size_t kHostsMax = 100'000;  // more can only be a mistake

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

// Cut at commas outside of brackets.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') ++depth;
    if (list[i] == ']') --depth;
    if (list[i] != ',' || depth != 0) continue;
    items.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  items.push_back(list.substr(begin));
  return items;
}

class HostList {
 public:
  explicit HostList(std::string_view list) : list_(list) {}

  std::vector<std::string> hosts() {
    for (const std::string_view item : items_of(list_)) {
      if (item.empty()) refuse();
      expand("", item);
    }
    return std::move(hosts_);
  }

 private:
  [[noreturn]] void refuse() const {
    throw UsageError(fmt::format("'{}' is not a list of hosts as Slurm writes it", list_));
  }

  // All hosts whose name is `begin` and one form of `rest`.
  void expand(const std::string& begin, std::string_view rest) {
    const std::size_t open = rest.find('[');
    if (open == std::string_view::npos) {
      if (rest.find(']') != std::string_view::npos || hosts_.size() >= kHostsMax) refuse();
      hosts_.push_back(begin + std::string(rest));
      return;
    }
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) refuse();
    const std::string prefix = begin + std::string(rest.substr(0, open));
    for (const std::string_view range : items_of(rest.substr(open + 1, close - open - 1))) {
      expand_range(prefix, range, rest.substr(close + 1));
    }
  }

  // "7" or "01-03": numbers keep the width of the first.
  void expand_range(const std::string& prefix, std::string_view range, std::string_view rest) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = digits(low);
    const auto last = digits(high);
    if (!first || !last || *last < *first || *last - *first >= kHostsMax) refuse();
    for (std::uint64_t number = *first; number <= *last; ++number) {
      expand(fmt::format("{}{:0{}}", prefix, number, low.size()), rest);
    }
  }

  std::string_view list_;
  std::vector<std::string> hosts_;
};

}  // namespace

std::vector<std::string> slurm_hosts(std::string_view list) { return HostList(list).hosts(); }

std::vector<std::size_t> slurm_tasks(std::string_view list) {
  const auto refuse = [&] {
    throw UsageError(fmt::format("'{}' is not a list of tasks as Slurm writes it", list));
  };
  std::vector<std::size_t> tasks;
  for (const std::string_view item : items_of(list)) {
    const std::size_t open = item.find("(x");
    const auto count = digits(item.substr(0, open));
    std::optional<std::uint64_t> nodes = 1;
    if (open != std::string_view::npos) {
      if (!item.ends_with(')')) refuse();
      nodes = digits(item.substr(open + 2, item.size() - open - 3));
    }
    if (!count || !nodes || *nodes > kHostsMax) refuse();
    tasks.insert(tasks.end(), *nodes, *count);
  }
  return tasks;
}

}  // namespace gradwire::launch
