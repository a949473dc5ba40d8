// HostStep: the two levels of a view whose hosts have several members. The members of a host add up
// their values in shared memory. The first one exchanges the sums of hosts with those of the other
// hosts, and gives the result frames to the rest, the listeners, which replay them. To the method a
// host is one worker.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/host_groups.h"
#include "gradwire/collective/host_sum.h"
#include "gradwire/membership/view.h"
#include "gradwire/method/method.h"

namespace gradwire::elastic {

// The host of every rank of a view. Members whose addresses have the same host share it; a peer
// chose its address, so that any text will do. Empty for one level: if no host has several members,
// and if there is only one host.
std::vector<std::size_t> hosts_of(const membership::View& view);

// The ranks that exchange: the first one of each host, in their order.
std::vector<std::size_t> first_ranks(const std::vector<std::size_t>& host_of);

class HostStep {
 public:
  // Null if the members of some host cannot share memory: then there is one level, on all of them.
  // `host_of` is not empty. All members of the view call it. Must go before the communicator.
  static std::unique_ptr<HostStep> make(Communicator& whole, std::vector<std::size_t> host_of,
                                        const std::vector<MethodTensor>& tensors,
                                        const std::vector<MethodTensor>& buffers);

  bool listens() const { return groups_->place != 0; }
  Communicator& exchanging() { return *groups_->peers; }  // unless it listens
  const std::vector<std::size_t>& exchanging_ranks() const { return exchanging_ranks_; }
  // Of this host: the ranks that get the results from this one, unless it listens.
  const std::vector<std::size_t>& listeners() const { return listeners_; }

  // Adds the values of a host up, times `weight`. The one that exchanges gets their mean in
  // `values`; its weight in the exchange is weight().
  void add_up(bool is_buffers, std::uint64_t step, float weight,
              std::span<const std::span<float>> values);
  float weight() const { return groups_->weight(); }

 private:
  explicit HostStep(std::unique_ptr<HostGroups> groups);
  std::unique_ptr<HostSum> make_sum(const std::vector<MethodTensor>& tensors);

  std::unique_ptr<HostGroups> groups_;
  std::vector<std::size_t> exchanging_ranks_, listeners_;
  std::unique_ptr<HostSum> sum_, buffers_sum_;  // go first
};

}  // namespace gradwire::elastic
