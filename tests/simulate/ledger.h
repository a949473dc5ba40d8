// The ledger: knows what happened on all processes of a simulation, and whether the promises of
// docs/membership.md hold. The first violation is kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/membership/view.h"
#include "tests/simulate/step_exchange.h"

namespace gradwire::simulate {

// What the ledger sees of a process.
struct Witnessed {
  bool is_alive = true;  // neither killed nor ended
  bool has_model = false;
  std::uint64_t committed = 0;
  Vector error, error_before;  // after the last step, and after the one before
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> history;  // step: world, hash
};

class Ledger {
 public:
  void add_process(membership::MemberId id, const Witnessed* process);

  void on_founded(const membership::View& view);
  void on_adopted(const membership::Decision& decision);
  // What a member gave to a step: its gradient and what of it, with its memory, was sent.
  void on_encoded(std::uint64_t world, std::uint64_t step, std::size_t rank, const Vector& gradient,
                  const Vector& sent);
  // After the process has changed.
  void on_committed(membership::MemberId id, std::uint64_t world, std::uint64_t step,
                    std::uint64_t hash);
  void on_ended(membership::MemberId id, std::uint64_t settled);
  void check();  // after anything else that changes who is there

  void fail(std::string what);
  const std::optional<std::string>& violation() const { return violation_; }

  const membership::View& latest() const { return views_.rbegin()->second.next; }
  std::uint64_t settled() const { return settled_; }

 private:
  struct Gift {
    Vector gradient, sent;
  };

  void settle(std::uint64_t step, const std::vector<membership::MemberId>& members);
  void add_to_chain(std::uint64_t world, std::uint64_t step);
  void check_conservation(std::uint64_t step, const std::vector<membership::MemberId>& members);

  std::map<membership::MemberId, const Witnessed*> processes_;
  std::map<std::uint64_t, membership::Decision> views_;  // by number: how each began
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> hashes_;  // (step, world)
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::map<std::size_t, Gift>> gifts_;

  // The run: the steps that every living member has committed.
  std::uint64_t settled_ = 0;
  std::map<std::uint64_t, std::uint64_t> chain_;  // step: hash
  Vector model_ = Vector(kElements, 0);
  Vector given_ = Vector(kElements, 0);
  std::map<membership::MemberId, Vector> memories_;
  std::optional<std::string> violation_;
};

std::uint64_t hash_of(const Vector& model);
void add(Vector& to, const Vector& more, float sign = 1);

}  // namespace gradwire::simulate
