// Views: who is a member, in which order. A view ends by one decision, which the next view begins
// with. docs/membership.md explains the words. Value types.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/membership/rank_set.h"

namespace gradwire::membership {

// Since any fixed moment; every process has its own.
using Time = std::chrono::milliseconds;

// 128 random bits. A process that starts again has a new id, so that nobody mistakes it for the
// process that had promised something.
struct MemberId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const MemberId&) const = default;
};

inline constexpr std::size_t kAddressBytesMax = 255;

struct Member {
  MemberId id;
  std::string address;  // how others reach it

  bool operator==(const Member&) const = default;
};

// A member's rank is its place in the list. Numbers start at 1; 0 is "none yet".
struct View {
  std::uint64_t number = 0;
  std::vector<Member> members;

  std::optional<std::size_t> rank_of(const MemberId& id) const {
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      if (members[rank].id == id) return rank;
    }
    return std::nullopt;
  }
  bool operator==(const View&) const = default;
};

// Why a member is not in the next view.
enum class Departure : std::uint8_t {
  left = 1,         // it said that it leaves
  closed = 2,       // its connection was closed or reset
  silent = 3,       // nothing was heard from it within the deadline, or it sent no report
  ended = 4,        // a witness saw its process end
  unreachable = 5,  // another member that stays cannot reach it
  diverged = 6,     // its model was not that of the others
};

const char* name(Departure departure);

struct Departed {
  MemberId id;
  Departure why = Departure::closed;

  bool operator==(const Departed&) const = default;
};

// How a view ends.
struct Decision {
  std::uint64_t view = 0;  // the view that ends
  View next = {};          // its number is view + 1. Without members, the run ends
  // Every member of the next view commits this step, if it has not yet, and no later one in the
  // view that ends. A step that somebody had begun beyond it is exchanged again in the next view.
  std::uint64_t step = 0;
  // Where to fetch the frames of that step. Empty if everybody has committed it. Otherwise for each
  // rank of view `world`, in which the step was exchanged, the rank in the next view that has it.
  std::uint64_t world = 0;
  std::vector<std::uint16_t> sources = {};
  std::vector<Departed> departed = {};

  bool operator==(const Decision&) const = default;
};

// Attempts to end a view. The rank makes them different.
struct Ballot {
  std::uint32_t round = 0;  // 0: none
  std::uint32_t rank = 0;   // of the coordinator

  auto operator<=>(const Ballot&) const = default;
};

// A decision that a member has accepted, and with which ballot.
struct Accepted {
  Ballot ballot;
  Decision decision;

  bool operator==(const Accepted&) const = default;
};

}  // namespace gradwire::membership
