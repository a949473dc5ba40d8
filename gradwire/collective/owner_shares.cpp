#include "gradwire/collective/owner_shares.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// The shares of one rank with which its link is free after a given time.
struct Interval {
  double least = 0;
  double most = 1;
};

// A link carries fixed + slope * share bytes.
struct Load {
  double fixed = 0;
  double slope = 0;

  double bytes(double share) const { return fixed + slope * share; }

  void limit(double bytes_max, Interval& shares) const {
    if (slope == 0) {
      if (fixed > bytes_max) shares.most = -1;
      return;
    }
    const double share = (bytes_max - fixed) / slope;
    if (slope > 0) {
      shares.most = std::min(shares.most, share);
    } else {
      shares.least = std::max(shares.least, share);
    }
  }
};

class Programme {
 public:
  Programme(std::span<const LinkRate> links, const SharedExchange& exchange)
      : links_(links), exchange_(exchange) {
    const auto others = static_cast<double>(links.size() - 1);
    const auto elements = static_cast<double>(exchange.elements);
    const double up = elements * exchange.up_bytes;
    const double down = elements * exchange.down_bytes;
    out_ = {.fixed = others > 0 ? up : 0, .slope = down * others - (others > 0 ? up : 0)};
    in_ = {.fixed = others > 0 ? down : 0, .slope = up * others - (others > 0 ? down : 0)};
    switch_bytes_ = others * (up + down);
  }

  double seconds(std::span<const double> shares) const {
    double longest = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      longest = std::max(
          {longest, out_.bytes(shares[i]) / links_[i].out, in_.bytes(shares[i]) / links_[i].in});
    }
    if (exchange_.switch_bytes_per_second > 0) {
      longest = std::max(longest, switch_bytes_ / exchange_.switch_bytes_per_second);
    }
    return longest;
  }

  // Feasible times have no upper end, so bisection finds the smallest one: each step halves the
  // distance, until there is no number in between.
  OwnerShares solve() const {
    const std::vector<double> even(links_.size(), 1.0 / static_cast<double>(links_.size()));
    double too_short = 0;
    double enough = seconds(even);
    if (!is_feasible(enough)) enough = std::nextafter(enough, std::numeric_limits<double>::max());
    while (true) {
      const double middle = too_short + (enough - too_short) / 2;
      if (middle <= too_short || middle >= enough) break;
      (is_feasible(middle) ? enough : too_short) = middle;
    }
    OwnerShares result{.shares = shares_within(enough)};
    result.seconds = seconds(result.shares);
    return result;
  }

 private:
  Interval interval(std::size_t rank, double seconds) const {
    Interval shares;
    out_.limit(seconds * links_[rank].out, shares);
    in_.limit(seconds * links_[rank].in, shares);
    return shares;
  }

  bool is_feasible(double seconds) const {
    double least = 0;
    double most = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const Interval shares = interval(i, seconds);
      if (shares.most < shares.least) return false;
      least += shares.least;
      most += shares.most;
    }
    return least <= 1 && most >= 1;
  }

  // Every rank goes equally far from its least to its most.
  std::vector<double> shares_within(double seconds) const {
    double least = 0;
    double most = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const Interval shares = interval(i, seconds);
      least += shares.least;
      most += shares.most;
    }
    const double way = most > least ? std::clamp((1 - least) / (most - least), 0.0, 1.0) : 0;
    std::vector<double> result;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const Interval shares = interval(i, seconds);
      const double span = std::max(shares.most - shares.least, 0.0);
      result.push_back(shares.least + way * span);
    }
    return result;
  }

  std::span<const LinkRate> links_;
  const SharedExchange exchange_;
  Load out_;
  Load in_;
  double switch_bytes_ = 0;
};

void check(std::span<const LinkRate> links, const SharedExchange& exchange) {
  if (links.empty()) throw Error("owner shares need the rate of at least one link");
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].is_valid()) continue;
    throw Error("the link of rank " + std::to_string(i) +
                " has no positive rate: owner shares need one for each rank");
  }
  GW_CHECK(exchange.up_bytes >= 0 && exchange.down_bytes >= 0);
}

std::string text_of(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

}  // namespace

bool LinkRate::is_valid() const {
  return out > 0 && in > 0 && std::isfinite(out) && std::isfinite(in);
}

std::string LinkRate::text() const { return text_of(out) + ' ' + text_of(in); }

std::optional<LinkRate> LinkRate::of_text(std::string_view text) {
  LinkRate rate;
  const char* const end = text.data() + text.size();
  const auto out = std::from_chars(text.data(), end, rate.out);
  if (out.ec != std::errc() || out.ptr == end || *out.ptr != ' ') return std::nullopt;
  const auto in = std::from_chars(out.ptr + 1, end, rate.in);
  if (in.ec != std::errc() || in.ptr != end || !rate.is_valid()) return std::nullopt;
  return rate;
}

OwnerShares owner_shares(std::span<const LinkRate> links, const SharedExchange& exchange) {
  check(links, exchange);
  return Programme(links, exchange).solve();
}

double shared_seconds(std::span<const LinkRate> links, std::span<const double> shares,
                      const SharedExchange& exchange) {
  check(links, exchange);
  GW_CHECK(shares.size() == links.size());
  return Programme(links, exchange).seconds(shares);
}

}  // namespace gradwire
