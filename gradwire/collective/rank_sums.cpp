#include "gradwire/collective/rank_sums.h"

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// All that there is to add with is a sum of floats, which is exact below 2^24: of so few bits of a
// number, so many ranks can add up.
constexpr unsigned kPartBits = 12;
constexpr std::size_t kParts = 6;
constexpr std::size_t kRanksMax = std::size_t{1} << (24 - kPartBits);
static_assert(kParts * kPartBits >= 64);

}  // namespace

std::vector<std::uint64_t> sum_over_ranks(Communicator& communicator,
                                          std::span<const std::uint64_t> own) {
  if (communicator.size() > kRanksMax) {
    throw Error("sums over ranks are exact for at most " + std::to_string(kRanksMax) +
                " ranks, and there are " + std::to_string(communicator.size()));
  }
  std::vector<float> parts;
  for (const std::uint64_t number : own) {
    for (std::size_t p = 0; p < kParts; ++p) {
      parts.push_back(
          static_cast<float>(number >> (kPartBits * p) & ((std::uint64_t{1} << kPartBits) - 1)));
    }
  }
  // Nobody says that it lives while it adds, so all begin together.
  communicator.barrier();
  communicator.allreduce(parts);
  std::vector<std::uint64_t> sums(own.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sums[i / kParts] += static_cast<std::uint64_t>(parts[i]) << (kPartBits * (i % kParts));
  }
  return sums;
}

std::vector<std::uint64_t> gather_from_ranks(Communicator& communicator, std::uint64_t own) {
  std::vector<std::uint64_t> numbers(communicator.size());
  numbers[communicator.rank()] = own;  // to which the others add zeros
  return sum_over_ranks(communicator, numbers);
}

void check_same_on_all_ranks(Communicator& communicator, std::uint64_t number,
                             const std::string& what) {
  const std::vector<std::uint64_t> numbers = gather_from_ranks(communicator, number);
  for (std::size_t rank = 1; rank < numbers.size(); ++rank) {
    if (numbers[rank] == numbers[0]) continue;
    throw Error("ranks 0 and " + std::to_string(rank) + " differ in " + what);
  }
}

}  // namespace gradwire
