// Which worker has which rows. Pure functions; the same on all ranks.
//
//   iid            shuffled, then cut into equal shards
//   label          sorted by label, then cut into equal shards: most have rows of one label only
//   dirichlet(a)   the rows of each label are dealt out by shares drawn from a Dirichlet
//                  distribution: the smaller a, the more uneven; shards may be empty
//
// Where labels are numbers rather than classes, dirichlet deals out ten groups of neighbouring
// labels in place of single ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire::data {

struct Split {
  enum class Kind { iid, label, dirichlet };

  Kind kind = Kind::iid;
  double concentration = 0;  // of dirichlet

  // The canonical text.
  std::string spec() const;
};

// Throws SpecError.
Split parse_split(std::string_view text);

// One worker's rows, and what its gradient counts in the mean over workers: its share of all rows
// times the number of workers, so that the weights average to 1.
struct Shard {
  std::vector<std::uint32_t> rows;
  double weight = 0;
};

// A row is in exactly one shard.
std::vector<Shard> split_rows(const Split& split, std::span<const double> labels,
                              std::size_t workers, std::uint64_t seed);

}  // namespace gradwire::data
