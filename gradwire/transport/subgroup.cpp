#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/check_transfer.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

struct Group {
  std::vector<std::size_t> members;  // ranks of the parent, by rank in the group
  std::uint16_t number;
  GroupErrors names;

  std::size_t rank_of(std::size_t rank_in_parent) const {
    const auto found = std::ranges::find(members, rank_in_parent);
    GW_CHECK(found != members.end());
    return static_cast<std::size_t>(found - members.begin());
  }
};

// Makes a call to a parent's transfer. The error that it throws names a rank of the parent: the
// group's ranks get it with the number by which they know it, unless they know the parent's.
template <class Call>
auto in_group(const Group& group, Call call) {
  if (group.names == GroupErrors::name_parent_ranks) return call();
  try {
    return call();
  } catch (const PeerError& error) {
    const std::size_t rank = group.rank_of(error.rank());
    throw PeerError(std::string(error.what()) + "; it is rank " + std::to_string(rank) +
                        " of group " + std::to_string(group.number),
                    rank);
  }
}

class SubgroupSender final : public Sender {
 public:
  SubgroupSender(const Group& group, std::unique_ptr<Sender> sender)
      : group_(group), sender_(std::move(sender)) {}

  void start(std::size_t bytes, MessageToSend::Parts parts) override {
    in_group(group_, [&] { sender_->start(bytes, parts); });
  }
  bool done() override {
    return in_group(group_, [&] { return sender_->done(); });
  }
  bool wait_for(std::chrono::microseconds time) override {
    return in_group(group_, [&] { return sender_->wait_for(time); });
  }

 private:
  const Group& group_;
  const std::unique_ptr<Sender> sender_;
};

class SubgroupReceiver final : public Receiver {
 public:
  SubgroupReceiver(const Group& group, std::unique_ptr<Receiver> receiver)
      : group_(group), receiver_(std::move(receiver)) {}

  void start(MessageRoom::Parts parts) override {
    in_group(group_, [&] { receiver_->start(parts); });
  }
  bool done() override {
    return in_group(group_, [&] { return receiver_->done(); });
  }
  bool wait_for(std::chrono::microseconds time) override {
    return in_group(group_, [&] { return receiver_->wait_for(time); });
  }

 private:
  const Group& group_;
  const std::unique_ptr<Receiver> receiver_;
};

class Subgroup final : public Transport {
 public:
  Subgroup(Transport& parent, Group group)
      : parent_(parent), group_(std::move(group)), rank_(group_.rank_of(parent.rank())) {}

  const char* name() const override { return parent_.name(); }
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return group_.members.size(); }
  std::string address(std::size_t rank) const override {
    return parent_.address(group_.members.at(rank));
  }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    return std::make_unique<SubgroupSender>(
        group_, parent_.sender(member(peer), tag_in_parent(tag), memory));
  }

  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    return std::make_unique<SubgroupReceiver>(
        group_, parent_.receiver(member(peer), tag_in_parent(tag), memory));
  }

  void wait_for_any(std::chrono::microseconds time) override { parent_.wait_for_any(time); }
  void wake() noexcept override { parent_.wake(); }

  void allreduce(std::span<float>) override {
    throw Error("a group of some of the ranks has no allreduce of its own");
  }

  void abandon() noexcept override { parent_.abandon(); }

 private:
  std::size_t member(std::size_t peer) const {
    check_peer(peer, rank_, size());
    return group_.members[peer];
  }

  // A group of a group would need its own number to be told apart from its parent's.
  Tag tag_in_parent(Tag tag) const {
    if (tag.group != 0) {
      throw Error("a group of ranks cannot be cut into groups: make group " +
                  std::to_string(tag.group) + " from the whole transport");
    }
    return {.lane = tag.lane, .group = group_.number, .exchange = tag.exchange};
  }

  Transport& parent_;
  const Group group_;
  const std::size_t rank_;
};

}  // namespace

std::unique_ptr<Transport> make_subgroup(Transport& parent, std::span<const std::size_t> members,
                                         std::uint16_t group, GroupErrors names) {
  const std::string what = "group " + std::to_string(group);
  if (group == 0) throw Error(what + " is everybody: number groups from 1");
  if (members.empty()) throw Error(what + " has no members");
  if (std::ranges::adjacent_find(members, std::greater_equal<>()) != members.end()) {
    throw Error(what + ": list each member once, in rising order");
  }
  if (members.back() >= parent.size()) {
    throw Error(what + ": there is no rank " + std::to_string(members.back()) + " among " +
                std::to_string(parent.size()));
  }
  if (!std::ranges::binary_search(members, parent.rank())) {
    throw Error(what + ": rank " + std::to_string(parent.rank()) +
                " makes it, but is not among its members");
  }
  return std::make_unique<Subgroup>(
      parent, Group{.members = {members.begin(), members.end()}, .number = group, .names = names});
}

}  // namespace gradwire
