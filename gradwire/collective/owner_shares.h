// Owner shares: which part of the elements each rank should average, if ranks have links of
// different rates. With the topology scatter, a rank sends its message to all owners, and an owner
// sends its mean to all ranks. So the larger a rank's chunk, the more bytes cross its link. The
// best shares let all busy links finish together. Pure functions, the same bits on all machines.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

// Bytes per second of one rank's link, in each direction.
struct LinkRate {
  double out = 0;
  double in = 0;

  bool is_valid() const;

  // "125000000 125000000": exact to the bit. Nothing for any other text.
  std::string text() const;
  static std::optional<LinkRate> of_text(std::string_view text);
};

struct SharedExchange {
  std::size_t elements = 0;
  double up_bytes = 4;                 // of each element in a message
  double down_bytes = 4;               // of each element in a mean
  double switch_bytes_per_second = 0;  // of all links together; 0: no limit
};

struct OwnerShares {
  std::vector<double> shares;  // by rank; their sum is 1
  double seconds = 0;          // until the last link has finished: the optimum of the programme
};

// The exact solution of the linear programme
//
//   minimise T, subject to, for each rank i of N with the share s_i,
//     elements (up (1 - s_i) + down (N - 1) s_i) <= T out_i      the rank's messages, its means
//     elements (up (N - 1) s_i + down (1 - s_i)) <= T in_i
//     s_i >= 0,  s_1 + ... + s_N = 1
//
// Throws Error for rates that are not positive and finite.
OwnerShares owner_shares(std::span<const LinkRate> links, const SharedExchange& exchange);

// T of given shares.
double shared_seconds(std::span<const LinkRate> links, std::span<const double> shares,
                      const SharedExchange& exchange);

}  // namespace gradwire
