#include "gradwire/collective/agreement.h"

#include <cstring>
#include <span>
#include <utility>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

// A message: the magic, the number of facts, and for each its name and its value, each as a length
// of two bytes and the text.
constexpr std::uint32_t kMagic = 0x47415747;  // "GWAG"
constexpr std::size_t kTextBytesMax = 160;

// Long values are told by their beginning and a checksum of all.
std::string shortened(const std::string& text) {
  if (text.size() <= kTextBytesMax) return text;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(text)));
  return text.substr(0, kTextBytesMax - 24) + "... #" + std::to_string(sum % 1000000000);
}

void write(const std::vector<Fact>& facts, Agreement::Message& message) {
  const std::span<std::byte> bytes(message);
  store_le(bytes, 0, kMagic);
  store_le(bytes, 4, static_cast<std::uint32_t>(facts.size()));
  std::size_t at = 8;
  const auto put = [&](const std::string& text) {
    GW_CHECK(at + 2 + text.size() <= bytes.size());
    store_le(bytes, at, static_cast<std::uint16_t>(text.size()));
    std::memcpy(message.data() + at + 2, text.data(), text.size());
    at += 2 + text.size();
  };
  for (const Fact& fact : facts) {
    put(fact.name);
    put(shortened(fact.value));
  }
}

std::optional<std::vector<Fact>> read(const Agreement::Message& message) {
  const std::span<const std::byte> bytes(message);
  if (load_le<std::uint32_t>(bytes, 0) != kMagic) return std::nullopt;
  std::size_t at = 8;
  const auto take = [&](std::string& text) {
    if (at + 2 > bytes.size()) return false;
    const std::size_t length = load_le<std::uint16_t>(bytes, at);
    if (length > bytes.size() - at - 2) return false;
    text.assign(reinterpret_cast<const char*>(message.data()) + at + 2, length);
    at += 2 + length;
    return true;
  };
  std::vector<Fact> facts;
  for (auto left = load_le<std::uint32_t>(bytes, 4); left > 0; --left) {
    Fact& fact = facts.emplace_back();
    if (!take(fact.name) || !take(fact.value)) return std::nullopt;
  }
  return facts;
}

// What the first difference is, in words; nothing if there is none.
std::optional<std::string> difference(const std::vector<Fact>& theirs,
                                      const std::vector<Fact>& ours) {
  for (std::size_t i = 0; i < theirs.size() && i < ours.size(); ++i) {
    if (theirs[i].name != ours[i].name) {
      return "speaks of " + theirs[i].name + " where this rank speaks of " + ours[i].name +
             ": all ranks must make the same calls in the same order";
    }
    const std::string mine = shortened(ours[i].value);
    if (theirs[i].value != mine) {
      return "has " + ours[i].name + ' ' + theirs[i].value + ", this rank has " + mine +
             ": start all ranks alike";
    }
  }
  if (theirs.size() != ours.size()) return "has other facts to compare: is it another version?";
  return std::nullopt;
}

}  // namespace

Agreement::Agreement(Transport& transport, Presence& presence)
    : transport_(transport), presence_(presence), peers_(transport.size()) {
  const Tag tag{.lane = Lane::agreement};
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (rank == transport.rank()) continue;
    peers_[rank].send = transport.sender(rank, tag, out_);
    peers_[rank].receive = transport.receiver(rank, tag, peers_[rank].in);
  }
}

void Agreement::compare(const std::vector<Fact>& facts) { refuse_if(exchange(facts)); }

std::vector<std::string> Agreement::compare(std::vector<Fact> facts, const std::string& word) {
  facts.push_back({"word", word});
  std::vector<std::string> words(peers_.size());
  words[transport_.rank()] = shortened(word);
  refuse_if(exchange(facts, &words));
  return words;
}

void Agreement::refuse_if(const std::optional<std::string>& differs) {
  if (!differs) return;
  // Nobody goes before all know: a rank that ends at once must not look like the cause.
  try {
    exchange({});
  } catch (const PeerError&) {
  }
  throw StartError(*differs);
}

std::optional<std::string> Agreement::exchange(const std::vector<Fact>& facts,
                                               std::vector<std::string>* words) {
  write(facts, out_);
  for (Peer& peer : peers_) {
    if (!peer.receive) continue;
    peer.receive->start();
    peer.send->start(kMessageBytes);
  }
  std::optional<std::string> first_difference;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (!peer.receive) continue;
    presence_.await(*peer.receive);
    presence_.heard(rank);
    auto theirs = read(peer.in);
    if (!theirs) presence_.fail(rank, "what it sent to be compared cannot be read");
    if (words != nullptr && theirs->size() == facts.size()) {
      (*words)[rank] = std::exchange(theirs->back().value, shortened(facts.back().value));
    }
    const auto differs = difference(*theirs, facts);
    if (differs && !first_difference) {
      first_difference =
          "rank " + std::to_string(rank) + " (" + transport_.address(rank) + ") " + *differs;
    }
  }
  for (const Peer& peer : peers_) {
    if (peer.send) presence_.await(*peer.send);
  }
  return first_difference;
}

}  // namespace gradwire
