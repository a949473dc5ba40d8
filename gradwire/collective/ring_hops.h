// The way of every segment around a ring. The sum of a chunk starts at the neighbour of its owner,
// travels to the owner, and the mean then travels to everybody else. A pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "gradwire/collective/layout.h"

namespace gradwire {

// One segment's stop at a rank.
struct RingHop {
  enum class Kind {
    first_sum,  // its sum starts here
    sum,        // the sum comes from the neighbour behind and goes on
    last_sum,   // it comes to its owner, who sends the mean
    mean,       // the mean comes from the neighbour behind, and goes on unless all have it
  };
  Kind kind;
  std::size_t segment;
  std::size_t owner;
  bool comes;
  bool goes;
};

// All stops at one rank: first those of the sums in the order in which they come, then the means'.
std::vector<RingHop> ring_hops(const Layout& layout, std::size_t rank, std::size_t ranks);

// All segments of a chunk may be under way between two neighbours at once. Two more frames find
// room, so that frames never wait for each other in a circle.
std::size_t ring_rooms(const Layout& layout);

// What turns a sum of values with these weights into their mean.
float mean_factor(double weight);

}  // namespace gradwire
