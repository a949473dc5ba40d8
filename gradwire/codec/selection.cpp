#include "gradwire/codec/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "gradwire/core/error.h"
#include "gradwire/kernel/select.h"

namespace gradwire {

std::size_t count_of_share(double share, std::size_t n) {
  const double exact = share * static_cast<double>(n);
  return std::min(n, static_cast<std::size_t>(std::ceil(exact * (1 - 1e-12))));
}

void check_length(std::size_t elements, std::string_view stage) {
  if (elements <= std::numeric_limits<std::uint32_t>::max()) return;
  throw Error(std::string(stage) + " takes tensors of fewer than 2^32 elements, not " +
              std::to_string(elements) + ": cut the tensor before");
}

std::span<const std::uint32_t> kept_indices(const Scale& scale) { return scale.facts().indices; }

std::span<const float> kept_values(const Scale& scale) { return scale.facts().values; }

bool join_shares(Scale::Facts& facts) {
  std::size_t kept = facts.indices.size();
  bool finite = true;
  for (const Scale::Facts::Share& share : facts.shares) {
    const auto indices = room_behind(facts.indices, kept, share.indices.size());
    const auto values = room_behind(facts.values, kept, share.values.size());
    std::ranges::copy(share.indices, indices.begin());
    std::ranges::copy(share.values, values.begin());
    kept += share.indices.size();
    finite = finite && share.finite;
  }
  facts.indices.resize(kept);
  facts.values.resize(kept);
  return finite;
}

void append_all_above(TensorRange range, std::uint32_t threshold,
                      std::vector<std::uint32_t>& kept_indices, std::vector<float>& kept_values) {
  std::size_t kept = kept_indices.size();
  kernel::for_blocks(range.values, [&](std::size_t first, std::span<const float> block,
                                       const kernel::Ahead& ahead) {
    const std::size_t room = block.size() + kernel::kSelectRoom;
    const auto indices = room_behind(kept_indices, kept, room);
    const std::size_t found = kernel::select_above(
        block, threshold, static_cast<std::uint32_t>(range.first + first), indices, ahead);
    const auto values = room_behind(kept_values, kept, found);
    for (std::size_t i = 0; i < found; ++i) values[i] = range.values[indices[i] - range.first];
    kept += found;
  });
  kept_indices.resize(kept);
  kept_values.resize(kept);
}

}  // namespace gradwire
