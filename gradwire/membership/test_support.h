// For tests: messages of every kind, and members with readable names.
#pragma once

#include <string>
#include <vector>

#include "gradwire/membership/message.h"

namespace gradwire::membership {

inline Member example_member(std::uint64_t number) {
  return {{0, number}, "host" + std::to_string(number) + ":29400"};
}

inline View example_view(std::uint64_t number, std::size_t members) {
  View view{.number = number, .members = {}};
  for (std::size_t i = 0; i < members; ++i) view.members.push_back(example_member(i + 1));
  return view;
}

inline Decision example_decision() {
  return {.view = 3,
          .next = example_view(4, 2),
          .step = 17,
          .world = 3,
          .sources = {0, 1, 1},
          .departed = {{{0, 9}, Departure::silent}}};
}

inline std::vector<Message> example_messages() {
  RankSet some;
  some.add(1);
  some.add(200);
  const Ballot ballot{2, 1};
  Report report{.view = 3,
                .ballot = ballot,
                .leaves = true,
                .committed = 16,
                .hash = 99,
                .world = 3,
                .world_size = 3,
                .held = some,
                .unreachable = some,
                .accepted = Accepted{ballot, example_decision()},
                .last_words = {{3, {0, 9}, {}, Accepted{ballot, example_decision()}}}};
  return {Alive{3},
          Stop{3, some},
          Collect{3, ballot, 16},
          Report{},
          report,
          Propose{ballot, example_decision()},
          Accept{3, ballot},
          Refuse{3, ballot},
          Go{example_decision()},
          Removed{9},
          Knock{example_member(5), true, 15},
          Welcome{example_view(3, 3), 16},
          Leave{3}};
}

}  // namespace gradwire::membership
