// HostSum: how the ranks of a host average their tensors, in memory that they share. Each rank
// writes its values there and gets the mean of its own part; after the hosts have exchanged their
// parts, each rank reads the parts of the others. Only short messages go over the transport, so
// that a rank that is lost is found out as always.
//
// The mean of an element: w_0 v_0 + w_1 v_1 + ... in the order of the ranks of the host, divided by
// their number, each operation rounded. So it has the same bits for threads and processes.
//
// For one thread of each rank at a time; the work is done on the communicator's progress thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gradwire/collective/exchange.h"
#include "gradwire/collective/host_groups.h"

namespace gradwire {

// What the ranks of a host tell each other of the exchanges of their parts.
struct PartFacts {
  std::uint64_t exchanges = 0;
  std::uint64_t poisoned = 0;
  std::uint64_t uploads = 0;
  std::uint64_t uploads_skipped = 0;
  bool wants_gradient = false;               // see Method::wants_gradient()
  std::vector<std::size_t> late_hosts = {};  // in rising order

  // Of all parts: the sum of exchanges; whether any place has uploaded, skipped it, or wants a
  // gradient; and hosts that were late for any part.
  void add(const PartFacts& other);
};

class HostSum {
 public:
  struct Options {
    std::vector<TensorSize> tensors = {};
    // By place: ranges of tensors, in their order. Together they are all elements, each once.
    std::vector<std::vector<TensorPiece>> parts = {};
    // Tensors that are added up together: one behind the last of each group.
    std::vector<std::size_t> group_ends = {};
    std::size_t hosts = 1;
  };

  // All ranks of all hosts call it. Throws StartError if the ranks of a host cannot share memory.
  HostSum(HostGroups& groups, Options options);
  ~HostSum();

  // This rank's part of a tensor, or no elements: the mean from wait() on, and until gather() what
  // the caller makes of it.
  std::span<float> part(std::size_t tensor);

  // Begins to average the tensors of a group. `values` has all tensors; those of the group are read
  // until wait() returns.
  void start(std::size_t group, std::uint64_t step, float weight,
             std::span<const std::span<float>> values);
  // The values of a rank without a part are in its slot then, and may still be read there: it must
  // not start the group again before it has something that follows from the sum. Throws PeerError.
  void wait(std::size_t group);

  // Waits for the parts of all ranks of the host and writes them to `outputs`. Returns the facts of
  // all parts. Throws PeerError.
  PartFacts gather(std::uint64_t step, const PartFacts& own,
                   std::span<const std::span<float>> outputs);

  // Waits for all that was started, whatever has become of it.
  void settle() noexcept;

  // Of the progress thread since the last call, in which it worked on the sums or waited for them.
  double take_seconds();
  std::size_t shared_bytes() const;

 private:
  class Slots;
  class Bell;
  class Sum;
  class Gather;

  std::unique_ptr<Slots> slots_;
  std::vector<std::unique_ptr<Sum>> sums_;  // by group
  std::unique_ptr<Gather> gather_;
};

}  // namespace gradwire
