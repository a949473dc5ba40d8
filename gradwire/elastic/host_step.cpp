#include "gradwire/elastic/host_step.h"

#include <algorithm>
#include <utility>

#include "gradwire/core/error.h"
#include "gradwire/method/levels/parts.h"

namespace gradwire::elastic {

std::vector<std::size_t> hosts_of(const membership::View& view) {
  std::vector<std::string> hosts;
  for (const membership::Member& member : view.members) {
    hosts.push_back(member.address.substr(0, member.address.rfind(':')));
  }
  return hosts_by_rank({.is_automatic = true}, hosts);
}

std::vector<std::size_t> first_ranks(const std::vector<std::size_t>& host_of) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    if (host_of[rank] == ranks.size()) ranks.push_back(rank);  // hosts are numbered by first ranks
  }
  return ranks;
}

HostStep::HostStep(std::unique_ptr<HostGroups> groups)
    : groups_(std::move(groups)), exchanging_ranks_(first_ranks(groups_->host_of)) {
  for (std::size_t rank = 0; rank < groups_->host_of.size(); ++rank) {
    const bool is_here = groups_->host_of[rank] == groups_->host;
    if (is_here && rank != exchanging_ranks_[groups_->host]) listeners_.push_back(rank);
  }
}

std::unique_ptr<HostSum> HostStep::make_sum(const std::vector<MethodTensor>& tensors) {
  if (tensors.empty()) return nullptr;
  return std::make_unique<HostSum>(
      *groups_, HostSum::Options{.tensors = sizes_of(tensors),
                                 .parts = cut_for_hosts(tensors, HostParts::one_rank, 1),
                                 .group_ends = {tensors.size()}});
}

std::unique_ptr<HostStep> HostStep::make(Communicator& whole, std::vector<std::size_t> host_of,
                                         const std::vector<MethodTensor>& tensors,
                                         const std::vector<MethodTensor>& buffers) {
  std::unique_ptr<HostStep> step(new HostStep(HostGroups::make(whole, std::move(host_of))));
  try {
    step->sum_ = step->make_sum(tensors);
    step->buffers_sum_ = step->make_sum(buffers);
  } catch (const StartError&) {
    return nullptr;
  }
  return step;
}

void HostStep::add_up(bool is_buffers, std::uint64_t step, float weight,
                      std::span<const std::span<float>> values) {
  HostSum& sum = is_buffers ? *buffers_sum_ : *sum_;
  sum.start(0, step, weight, values);
  sum.wait(0);
  if (listens()) return;
  for (std::size_t i = 0; i < values.size(); ++i) std::ranges::copy(sum.part(i), values[i].begin());
}

}  // namespace gradwire::elastic
