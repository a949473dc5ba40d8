// The bytes of messages: a head with version and kind, then the fields one behind the other.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "gradwire/core/fields.h"
#include "gradwire/membership/message.h"

namespace gradwire::membership {
namespace {

constexpr std::uint16_t kVersion = 1;

// --- Writing -------------------------------------------------------------------------------------

void put(FieldWriter& out, bool value) { out.put(std::uint8_t{value}); }
void put(FieldWriter& out, std::uint64_t value) { out.put(value); }
void put(FieldWriter& out, std::uint16_t value) { out.put(value); }

void put(FieldWriter& out, const MemberId& id) {
  out.put(id.high);
  out.put(id.low);
}

void put(FieldWriter& out, const Ballot& ballot) {
  out.put(ballot.round);
  out.put(ballot.rank);
}

void put(FieldWriter& out, const RankSet& set) {
  for (const std::uint64_t word : set.words()) out.put(word);
}

void put(FieldWriter& out, const Member& member) {
  put(out, member.id);
  out.put_text(member.address);
}

void put(FieldWriter& out, const Departed& departed) {
  put(out, departed.id);
  out.put(static_cast<std::uint8_t>(departed.why));
}

void put(FieldWriter& out, const LastWord& word);

template <class T>
void put(FieldWriter& out, const std::vector<T>& list) {
  out.put_count(list.size());
  for (const T& element : list) put(out, element);
}

void put(FieldWriter& out, const View& view) {
  out.put(view.number);
  put(out, view.members);
}

void put(FieldWriter& out, const Decision& decision) {
  out.put(decision.view);
  put(out, decision.next);
  out.put(decision.step);
  out.put(decision.world);
  put(out, decision.sources);
  put(out, decision.departed);
}

void put(FieldWriter& out, const Accepted& accepted) {
  put(out, accepted.ballot);
  put(out, accepted.decision);
}

template <class T>
void put(FieldWriter& out, const std::optional<T>& value) {
  put(out, value.has_value());
  if (value) put(out, *value);
}

void put(FieldWriter& out, const LastWord& word) {
  out.put(word.view);
  put(out, word.id);
  put(out, word.adopted);
  put(out, word.accepted);
}

// --- Reading -------------------------------------------------------------------------------------

void take(FieldReader& in, std::uint64_t& value) { value = in.take<std::uint64_t>(); }
void take(FieldReader& in, std::uint16_t& value) { value = in.take<std::uint16_t>(); }

void take(FieldReader& in, bool& value) {
  const auto byte = in.take<std::uint8_t>();
  if (byte > 1) in.fail("neither yes nor no", in.at() - 1);
  value = byte == 1;
}

void take(FieldReader& in, MemberId& id) {
  id.high = in.take<std::uint64_t>();
  id.low = in.take<std::uint64_t>();
}

void take(FieldReader& in, Ballot& ballot) {
  ballot.round = in.take<std::uint32_t>();
  ballot.rank = in.take<std::uint32_t>();
  if (ballot.rank >= kMembersMax) in.fail("a ballot of an impossible rank", in.at());
}

void take(FieldReader& in, RankSet& set) {
  for (std::uint64_t& word : set.words()) word = in.take<std::uint64_t>();
}

void take(FieldReader& in, Member& member) {
  take(in, member.id);
  const std::size_t at = in.at();
  member.address = in.take_text();
  if (member.address.size() > kAddressBytesMax) in.fail("an address that is too long", at);
}

void take(FieldReader& in, Departed& departed) {
  take(in, departed.id);
  const auto why = in.take<std::uint8_t>();
  const bool known = why >= static_cast<std::uint8_t>(Departure::left) &&
                     why <= static_cast<std::uint8_t>(Departure::diverged);
  if (!known) in.fail("an unknown reason of a departure", in.at());
  if (known) departed.why = static_cast<Departure>(why);
}

void take(FieldReader& in, LastWord& word);

// No list is about more than the members of a view.
template <class T>
void take(FieldReader& in, std::vector<T>& list) {
  in.take_list([&] {
    if (list.size() == kMembersMax) return in.fail("a list that is too long", in.at());
    take(in, list.emplace_back());
  });
}

void take(FieldReader& in, View& view) {
  const std::size_t at = in.at();
  view.number = in.take<std::uint64_t>();
  take(in, view.members);
  std::vector<MemberId> ids;
  for (const Member& member : view.members) ids.push_back(member.id);
  std::ranges::sort(ids);
  if (std::ranges::adjacent_find(ids) != ids.end()) in.fail("a view with a member twice", at);
}

void take(FieldReader& in, Decision& decision) {
  const std::size_t at = in.at();
  decision.view = in.take<std::uint64_t>();
  take(in, decision.next);
  decision.step = in.take<std::uint64_t>();
  decision.world = in.take<std::uint64_t>();
  take(in, decision.sources);
  take(in, decision.departed);
  if (decision.next.number != decision.view + 1) in.fail("a view that skips a number", at);
  for (const std::uint16_t source : decision.sources) {
    if (source >= decision.next.members.size()) in.fail("a source that is no member", at);
  }
}

void take(FieldReader& in, Accepted& accepted) {
  take(in, accepted.ballot);
  take(in, accepted.decision);
}

template <class T>
void take(FieldReader& in, std::optional<T>& value) {
  bool is_there = false;
  take(in, is_there);
  if (is_there) take(in, value.emplace());
}

void take(FieldReader& in, LastWord& word) {
  word.view = in.take<std::uint64_t>();
  take(in, word.id);
  take(in, word.adopted);
  take(in, word.accepted);
}

// --- The fields of each message, once for both directions
// -----------------------------------------

template <class Visit>
void fields(auto& message, const Visit& visit) {
  using T = std::remove_cvref_t<decltype(message)>;
  if constexpr (std::is_same_v<T, Alive> || std::is_same_v<T, Removed> ||
                std::is_same_v<T, Leave>) {
    visit(message.view);
  } else if constexpr (std::is_same_v<T, Stop>) {
    visit(message.view, message.unreachable);
  } else if constexpr (std::is_same_v<T, Collect>) {
    visit(message.view, message.ballot, message.after_step);
  } else if constexpr (std::is_same_v<T, Report>) {
    visit(message.view, message.ballot, message.is_fresh, message.leaves, message.committed,
          message.hash, message.world, message.world_size, message.held, message.unreachable,
          message.accepted, message.last_words);
  } else if constexpr (std::is_same_v<T, Propose>) {
    visit(message.ballot, message.decision);
  } else if constexpr (std::is_same_v<T, Accept>) {
    visit(message.view, message.ballot);
  } else if constexpr (std::is_same_v<T, Refuse>) {
    visit(message.view, message.promised);
  } else if constexpr (std::is_same_v<T, Go>) {
    visit(message.decision);
  } else if constexpr (std::is_same_v<T, Knock>) {
    visit(message.member, message.is_ready, message.step);
  } else {
    static_assert(std::is_same_v<T, Welcome>);
    visit(message.view, message.step);
  }
}

template <class T>
Message take_message(FieldReader& in) {
  T message;
  fields(message, [&](auto&... field) { (take(in, field), ...); });
  return message;
}

template <std::size_t... kinds>
Message take_kind(FieldReader& in, std::size_t kind, std::index_sequence<kinds...>) {
  using Take = Message (*)(FieldReader&);
  constexpr std::array<Take, sizeof...(kinds)> all = {
      &take_message<std::variant_alternative_t<kinds, Message>>...};
  return all[kind](in);
}

// Everything was read, and nothing is left.
Decoded<void> check_end(const FieldReader& in, std::size_t bytes) {
  if (in.failed()) return Unexpected{in.error()};
  if (in.at() != bytes) return Unexpected{DecodeError{"bytes behind the message", in.at()}};
  return {};
}

}  // namespace

std::vector<std::byte> to_bytes(const Message& message) {
  FieldWriter out;
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(message.index()));
  std::visit([&](const auto& m) { fields(m, [&](const auto&... f) { (put(out, f), ...); }); },
             message);
  return out.take();
}

Decoded<Message> parse_message(std::span<const std::byte> bytes) {
  constexpr std::size_t kinds = std::variant_size_v<Message>;
  FieldReader in(bytes, 0);
  if (in.take<std::uint16_t>() != kVersion) in.fail("a message of an unknown version", 0);
  const std::size_t kind = in.take<std::uint16_t>();
  if (kind >= kinds) in.fail("an unknown message", sizeof(kVersion));
  if (in.failed()) return Unexpected{in.error()};
  Message message = take_kind(in, kind, std::make_index_sequence<kinds>());
  if (const auto end = check_end(in, bytes.size()); !end) return Unexpected{end.error()};
  return message;
}

std::vector<std::byte> to_bytes(const LastWord& word) {
  FieldWriter out;
  out.put(kVersion);
  put(out, word);
  return out.take();
}

Decoded<LastWord> parse_last_word(std::span<const std::byte> bytes) {
  FieldReader in(bytes, 0);
  if (in.take<std::uint16_t>() != kVersion) in.fail("a last word of an unknown version", 0);
  LastWord word;
  take(in, word);
  if (const auto end = check_end(in, bytes.size()); !end) return Unexpected{end.error()};
  return word;
}

const char* name(const Message& message) {
  constexpr const char* kNames[] = {"alive",  "stop", "collect", "report", "propose", "accept",
                                    "refuse", "go",   "removed", "knock",  "welcome", "leave"};
  static_assert(std::size(kNames) == std::variant_size_v<Message>);
  return kNames[message.index()];
}

const char* name(Departure departure) {
  switch (departure) {
    case Departure::left:
      return "left";
    case Departure::closed:
      return "connection closed";
    case Departure::silent:
      return "silent";
    case Departure::ended:
      return "process ended";
    case Departure::unreachable:
      return "unreachable for another member";
    case Departure::diverged:
      return "other model";
  }
  return "unknown";
}

}  // namespace gradwire::membership
