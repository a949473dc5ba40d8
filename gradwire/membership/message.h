// The messages between members, and their bytes. docs/membership.md has the protocol;
// docs/wire_format.md has the bytes. Value types and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "gradwire/core/expected.h"
#include "gradwire/membership/view.h"

namespace gradwire::membership {

// I live, and this is my view.
struct Alive {
  std::uint64_t view = 0;

  bool operator==(const Alive&) const = default;
};

// Stop the step: I cannot reach these ranks.
struct Stop {
  std::uint64_t view = 0;
  RankSet unreachable;

  bool operator==(const Stop&) const = default;
};

// The coordinator asks for reports.
struct Collect {
  std::uint64_t view = 0;
  Ballot ballot;
  // A change at a step's end: whoever has not committed this step does so first. 0: stop at once.
  std::uint64_t after_step = 0;

  bool operator==(const Collect&) const = default;
};

// What a process had promised when it ended: the view it was in, how the one before had ended, and
// the decision that it had accepted. Whoever watches a process hands it on (docs/membership.md).
struct LastWord {
  std::uint64_t view = 0;
  MemberId id;
  std::optional<Decision> adopted;
  std::optional<Accepted> accepted;

  bool operator==(const LastWord&) const = default;
};

// What a member has. From here until the view's end it takes no frame, commits nothing, and ignores
// lower ballots.
struct Report {
  std::uint64_t view = 0;
  Ballot ballot = {};
  bool is_fresh = false;  // it has no model yet
  bool leaves = false;
  std::uint64_t committed = 0;  // its last step
  std::uint64_t hash = 0;       // of the model after it
  std::uint64_t world = 0;      // the view in which the next step is exchanged
  std::uint16_t world_size = 0;
  RankSet held = {};  // the ranks of that view whose frames of that step it has
  RankSet unreachable = {};
  std::optional<Accepted> accepted = {};
  std::vector<LastWord> last_words = {};

  bool operator==(const Report&) const = default;
};

struct Propose {
  Ballot ballot;
  Decision decision;

  bool operator==(const Propose&) const = default;
};

struct Accept {
  std::uint64_t view = 0;
  Ballot ballot;

  bool operator==(const Accept&) const = default;
};

// The ballot is too low: this one was promised.
struct Refuse {
  std::uint64_t view = 0;
  Ballot promised;

  bool operator==(const Refuse&) const = default;
};

// This is decided.
struct Go {
  Decision decision;

  bool operator==(const Go&) const = default;
};

// The run is at this view, and the receiver is not in it.
struct Removed {
  std::uint64_t view = 0;

  bool operator==(const Removed&) const = default;
};

// A newcomer asks for the view, and to be admitted if it is ready.
struct Knock {
  Member member;
  bool is_ready = false;
  std::uint64_t step = 0;  // that it has caught up to

  bool operator==(const Knock&) const = default;
};

// The answer of a member that has a model.
struct Welcome {
  View view;
  std::uint64_t step = 0;  // the member's last

  bool operator==(const Welcome&) const = default;
};

// I want to leave at a step's end.
struct Leave {
  std::uint64_t view = 0;

  bool operator==(const Leave&) const = default;
};

using Message = std::variant<Alive, Stop, Collect, Report, Propose, Accept, Refuse, Go, Removed,
                             Knock, Welcome, Leave>;

const char* name(const Message& message);

std::vector<std::byte> to_bytes(const Message& message);

// Any bytes are a message, whose bytes are exactly these, or are refused.
Decoded<Message> parse_message(std::span<const std::byte> bytes);

// For witnesses, which keep a process's last word outside of it.
std::vector<std::byte> to_bytes(const LastWord& word);
Decoded<LastWord> parse_last_word(std::span<const std::byte> bytes);

}  // namespace gradwire::membership
