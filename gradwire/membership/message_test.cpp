#include "gradwire/membership/message.h"

#include <gtest/gtest.h>

#include "gradwire/core/bytes.h"
#include "gradwire/membership/test_support.h"

namespace gradwire::membership {
namespace {

TEST(MembershipMessage, IsReadBackFromItsBytes) {
  for (const Message& message : example_messages()) {
    const Decoded<Message> read = parse_message(to_bytes(message));
    ASSERT_TRUE(read.has_value()) << name(message);
    EXPECT_EQ(*read, message) << name(message);
  }
}

TEST(MembershipMessage, IsRefusedIfAByteIsMissingOrLeft) {
  for (const Message& message : example_messages()) {
    std::vector<std::byte> bytes = to_bytes(message);
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(parse_message(bytes).has_value()) << name(message);
    for (std::size_t length = 0; length + 1 < bytes.size(); ++length) {
      EXPECT_FALSE(parse_message(std::span(bytes).first(length)).has_value()) << name(message);
    }
  }
}

TEST(MembershipMessage, RefusesViewsThatCannotBe) {
  Decision decision = example_decision();
  decision.next.number += 1;
  EXPECT_FALSE(parse_message(to_bytes(Message(Go{decision}))).has_value());
  decision = example_decision();
  decision.next.members.push_back(decision.next.members.front());
  EXPECT_FALSE(parse_message(to_bytes(Message(Go{decision}))).has_value());
  decision = example_decision();
  decision.sources = {7};
  EXPECT_FALSE(parse_message(to_bytes(Message(Go{decision}))).has_value());
}

TEST(MembershipMessage, LastWordIsReadBackFromItsBytes) {
  const LastWord word{4, {1, 2}, example_decision(), Accepted{{3, 1}, example_decision()}};
  const Decoded<LastWord> read = parse_last_word(to_bytes(word));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, word);
}

}  // namespace
}  // namespace gradwire::membership
