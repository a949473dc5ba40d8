// The scenarios themselves. No GoogleTest here: the program `ranks` compiles this file, too.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/transport/scenarios_test_support.h"

namespace gradwire {
namespace {

using Bytes = std::vector<std::byte>;
using namespace std::chrono_literals;

constexpr auto kPatience = 60s;  // on two cores that other tests use as well

void claim(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("not true: " + what);
}

void await(Transfer& transfer, const std::string& what) {
  claim(transfer.wait_for(kPatience), what + " ended in time");
  claim(transfer.done(), what + " stays done");
}

// Bytes that depend on sender, receiver and number, so that no message passes for another. Made by
// words, because sanitizers make single bytes slow.
Bytes text(std::size_t bytes, std::size_t from, std::size_t to, std::size_t number = 0) {
  std::uint64_t word = (from * 1000 + to) * 1000003 + number;
  Bytes text(bytes);
  for (std::size_t i = 0; i < bytes; i += sizeof word) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t mixed = word ^ word >> 32;
    std::memcpy(&text[i], &mixed, std::min(sizeof mixed, bytes - i));
  }
  return text;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::size_t next_of(const Transport& transport) {
  return (transport.rank() + 1) % transport.size();
}

std::size_t previous_of(const Transport& transport) {
  return (transport.rank() + transport.size() - 1) % transport.size();
}

// A message to the next rank and one from the previous.
void ring(Transport& transport, Lane lane, std::size_t bytes, std::size_t number) {
  if (transport.size() == 1) return;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  const Bytes out = text(bytes, transport.rank(), next, number);
  Bytes in(bytes);
  const auto receiver = transport.receiver(previous, {.lane = lane}, in);
  const auto sender = transport.sender(next, {.lane = lane}, out);
  receiver->start();
  sender->start(bytes);
  await(*receiver, "the receive");
  await(*sender, "the send");
  claim(same(in, text(bytes, previous, transport.rank(), number)),
        "the message came as it was sent");
}

// Returns when all ranks are here: round by round, everybody hears of twice as many.
void meet(Transport& transport) {
  const std::size_t size = transport.size();
  const Tag tag{.lane = Lane::agreement};
  for (std::size_t distance = 1; distance < size; distance *= 2) {
    const Bytes out(1);
    Bytes in(1);
    const auto sender = transport.sender((transport.rank() + distance) % size, tag, out);
    const auto receiver = transport.receiver((transport.rank() + size - distance) % size, tag, in);
    receiver->start();
    sender->start(1);
    await(*receiver, "meeting");
    await(*sender, "meeting");
  }
}

void messages_go_round(Transport& transport) {
  for (const std::size_t bytes : {1, 7, 64, 5000, 70000, 300000}) {
    ring(transport, Lane::hop, bytes, bytes);
  }
}

void order_is_kept_in_a_lane(Transport& transport) {
  if (transport.size() == 1) return;
  constexpr std::size_t kMessages = 20;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  const auto bytes_of = [](std::size_t i) { return i % 3 == 0 ? 100000 + i : 10 + i; };

  std::vector<Bytes> out(kMessages), in(kMessages);
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Receiver>> receivers;
  for (std::size_t i = 0; i < kMessages; ++i) {
    out[i] = text(bytes_of(i), transport.rank(), next, i);
    in[i].resize(bytes_of(i));
    senders.push_back(transport.sender(next, {.lane = Lane::up}, out[i]));
    receivers.push_back(transport.receiver(previous, {.lane = Lane::up}, in[i]));
  }
  // Half of the receivers are there before the messages, half come after.
  for (std::size_t i = 0; i < kMessages / 2; ++i) receivers[i]->start();
  for (std::size_t i = 0; i < kMessages; ++i) senders[i]->start(out[i].size());
  for (std::size_t i = kMessages / 2; i < kMessages; ++i) receivers[i]->start();
  for (std::size_t i = kMessages; i-- > 0;) {
    await(*receivers[i], "receive " + std::to_string(i));
    claim(same(in[i], text(bytes_of(i), previous, transport.rank(), i)),
          "message " + std::to_string(i) + " came in its place");
  }
  for (const auto& sender : senders) await(*sender, "a send");
}

// The messages of two exchanges go by the same lane, and are taken in another order than sent.
void exchanges_do_not_mix(Transport& transport) {
  if (transport.size() == 1) return;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  constexpr std::array<std::uint16_t, 3> kExchanges = {1, 2, Tag::kExchangeMax};
  std::vector<Bytes> out, in(kExchanges.size(), Bytes(1000));
  std::vector<std::unique_ptr<Sender>> senders;
  for (std::size_t i = 0; i < kExchanges.size(); ++i) {
    out.push_back(text(1000, transport.rank(), next, i));
  }
  for (std::size_t i = 0; i < kExchanges.size(); ++i) {
    senders.push_back(
        transport.sender(next, {.lane = Lane::up, .exchange = kExchanges[i]}, out[i]));
    senders.back()->start(out[i].size());
  }
  for (std::size_t i = kExchanges.size(); i-- > 0;) {
    const auto receiver =
        transport.receiver(previous, {.lane = Lane::up, .exchange = kExchanges[i]}, in[i]);
    receiver->start();
    await(*receiver, "receive");
    claim(same(in[i], text(1000, previous, transport.rank(), i)), "the exchange's own message");
  }
  for (const auto& sender : senders) await(*sender, "a send");
}

// No transfer is waited for by itself.
void any_transfer_ends_a_wait(Transport& transport) {
  transport.wake();
  transport.wait_for_any(std::chrono::hours(1));
  if (transport.size() == 1) return;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  const Bytes out = text(100000, transport.rank(), next);
  Bytes in_up(out.size()), in_down(out.size());
  const auto up = transport.receiver(previous, {.lane = Lane::up}, in_up);
  const auto down = transport.receiver(previous, {.lane = Lane::down}, in_down);
  const auto send_up = transport.sender(next, {.lane = Lane::up}, out);
  const auto send_down = transport.sender(next, {.lane = Lane::down}, out);
  up->start();
  down->start();
  send_down->start(out.size());
  send_up->start(out.size());
  while (!up->done() || !down->done() || !send_up->done() || !send_down->done()) {
    transport.wait_for_any(std::chrono::hours(1));
  }
  claim(same(in_up, in_down), "both messages came");
}

// Sent in three parts, and received in three others.
void messages_may_be_in_parts(Transport& transport) {
  if (transport.size() == 1) return;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  for (const std::size_t bytes : {100u, 5000u, 400000u}) {
    const Bytes out = text(bytes, transport.rank(), next);
    Bytes head(40), first(bytes / 3), last(bytes - 40 - bytes / 3);
    const std::span<const std::byte> all(out);
    const std::array<std::span<const std::byte>, 3> to_send = {all.subspan(17, 3),
                                                               all.subspan(20, 0), all.subspan(20)};
    const std::array<std::span<std::byte>, 2> room = {first, last};
    const auto receiver = transport.receiver(previous, {.lane = Lane::hop}, head);
    const auto sender = transport.sender(next, {.lane = Lane::hop}, out);
    for (int round = 0; round < 3; ++round) {
      receiver->start(room);
      sender->start(17, to_send);
      await(*receiver, "receive");
      Bytes in = head;
      in.insert(in.end(), first.begin(), first.end());
      in.insert(in.end(), last.begin(), last.end());
      claim(same(in, text(bytes, previous, transport.rank())), "the parts came in their order");
      await(*sender, "send");
    }
  }
}

void lanes_do_not_wait_for_one_another(Transport& transport) {
  if (transport.size() == 1) return;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  const Bytes out = text(1000, transport.rank(), next);
  const Bytes expected = text(1000, previous, transport.rank());
  Bytes in_up(1000), in_down(1000);
  const auto up = transport.receiver(previous, {.lane = Lane::up}, in_up);
  const auto down = transport.receiver(previous, {.lane = Lane::down}, in_down);
  const auto send_up = transport.sender(next, {.lane = Lane::up}, out);
  const auto send_down = transport.sender(next, {.lane = Lane::down}, out);
  up->start();
  down->start();
  send_down->start(out.size());
  await(*down, "down");
  claim(same(in_down, expected), "down got its message");
  meet(transport);  // nobody goes on before all have seen that nothing came on `up`
  claim(!up->done(), "up still waits");
  meet(transport);
  send_up->start(out.size());
  await(*up, "up");
  claim(same(in_up, expected), "up got its message");
  await(*send_up, "the send up");
  await(*send_down, "the send down");
}

void memory_may_be_longer_than_the_message(Transport& transport) {
  if (transport.size() == 1) return;
  constexpr std::byte kBefore{0xA5};
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  for (const std::size_t bytes : {1, 10, 99999}) {
    const Bytes out = text(bytes, transport.rank(), next, bytes);
    Bytes in(100000, kBefore);
    const auto receiver = transport.receiver(previous, {.lane = Lane::down}, in);
    const auto sender = transport.sender(next, {.lane = Lane::down}, out);
    receiver->start();
    sender->start(bytes);
    await(*receiver, "the receive");
    await(*sender, "the send");
    const auto message = std::span(in).first(bytes);
    const auto behind = std::span(in).subspan(bytes);
    claim(same(message, text(bytes, previous, transport.rank(), bytes)),
          "the message came as it was sent");
    claim(same(behind, Bytes(behind.size(), kBefore)), "the memory behind it is as it was");
  }
}

void empty_messages_arrive(Transport& transport) {
  if (transport.size() == 1) return;
  Bytes in(10);
  const Bytes out(10);
  const auto receiver = transport.receiver(previous_of(transport), {.lane = Lane::hop}, in);
  const auto sender = transport.sender(next_of(transport), {.lane = Lane::hop}, out);
  for (int i = 0; i < 3; ++i) {
    receiver->start();
    sender->start(0);
    await(*receiver, "the receive");
    await(*sender, "the send");
  }
}

void long_messages_pass_one_another(Transport& transport) {
  constexpr std::size_t kBytes = 20'000'000;
  const std::size_t peer = transport.size() - 1 - transport.rank();  // only the first and the last
  if (std::max(peer, transport.rank()) != transport.size() - 1 || peer == transport.rank()) return;
  const Bytes out = text(kBytes, transport.rank(), peer);
  Bytes in(kBytes);
  const auto receiver = transport.receiver(peer, {.lane = Lane::up}, in);
  const auto sender = transport.sender(peer, {.lane = Lane::up}, out);
  receiver->start();
  sender->start(kBytes);
  await(*receiver, "the receive");
  await(*sender, "the send");
  claim(same(in, text(kBytes, peer, transport.rank())), "the message came as it was sent");
}

void messages_wait_for_their_receivers(Transport& transport) {
  if (transport.size() == 1) return;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  for (const std::size_t bytes : {100, 1000000}) {  // MPI sends short and long ones differently
    const Bytes out = text(bytes, transport.rank(), next);
    Bytes in(bytes);
    const auto sender = transport.sender(next, {.lane = Lane::down}, out);
    sender->start(bytes);
    meet(transport);
    std::this_thread::sleep_for(20ms);
    const auto receiver = transport.receiver(previous, {.lane = Lane::down}, in);
    receiver->start();
    await(*receiver, "the receive");
    await(*sender, "the send");
    claim(same(in, text(bytes, previous, transport.rank())), "the message came as it was sent");
  }
}

void transfers_start_again_and_again(Transport& transport) {
  if (transport.size() == 1) return;
  constexpr std::size_t kBytes = 64;
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  Bytes out(kBytes), in(kBytes);
  const auto receiver = transport.receiver(previous, {.lane = Lane::hop}, in);
  const auto sender = transport.sender(next, {.lane = Lane::hop}, out);
  claim(receiver->done() && sender->done(), "a transfer that was not started is done");
  for (std::size_t i = 0; i < 1000; ++i) {
    std::ranges::copy(text(kBytes, transport.rank(), next, i), out.begin());
    receiver->start();
    sender->start(kBytes);
    await(*receiver, "receive " + std::to_string(i));
    await(*sender, "send " + std::to_string(i));
    claim(same(in, text(kBytes, previous, transport.rank(), i)),
          "message " + std::to_string(i) + " came as it was sent");
  }
}

void everybody_sends_to_everybody(Transport& transport) {
  struct Exchange {
    std::size_t peer;
    Bytes out, in;
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;
  };
  const auto bytes_from = [](std::size_t rank) { return 1000 + 30000 * rank; };
  const std::size_t mine = transport.rank();

  std::vector<Exchange> exchanges;
  for (std::size_t peer = 0; peer < transport.size(); ++peer) {
    if (peer == mine) continue;
    Exchange exchange{.peer = peer,
                      .out = text(bytes_from(mine), mine, peer),
                      .in = Bytes(bytes_from(peer)),
                      .sender = nullptr,
                      .receiver = nullptr};
    exchange.sender = transport.sender(peer, {.lane = Lane::up}, exchange.out);
    exchange.receiver = transport.receiver(peer, {.lane = Lane::up}, exchange.in);
    exchanges.push_back(std::move(exchange));  // the vectors' memory moves along
  }
  for (const Exchange& exchange : exchanges) {
    exchange.sender->start(exchange.out.size());
    exchange.receiver->start();
  }
  for (const Exchange& exchange : exchanges) {
    await(*exchange.receiver, "the receive from rank " + std::to_string(exchange.peer));
    await(*exchange.sender, "the send to rank " + std::to_string(exchange.peer));
    claim(same(exchange.in, text(exchange.in.size(), exchange.peer, mine)),
          "the message of rank " + std::to_string(exchange.peer) + " came as it was sent");
  }
}

// Even ranks and odd ranks at the same time, on the lanes that all of them use.
void groups_do_not_mix(Transport& transport) {
  std::vector<std::size_t> members;
  for (std::size_t rank = transport.rank() % 2; rank < transport.size(); rank += 2) {
    members.push_back(rank);
  }
  const auto group_number = static_cast<std::uint16_t>(1 + transport.rank() % 2);
  const auto group = make_subgroup(transport, members, group_number);
  claim(group->rank() == transport.rank() / 2, "the rank in the group");
  claim(group->size() == members.size(), "the size of the group");
  for (std::size_t rank = 0; rank < group->size(); ++rank) {
    claim(group->address(rank) == transport.address(members[rank]), "the address of a member");
  }

  Bytes in(100);
  const std::size_t next = next_of(transport);
  const std::size_t previous = previous_of(transport);
  const Bytes out = text(100, transport.rank(), next);
  const bool is_alone = transport.size() == 1;
  const auto receiver = is_alone ? nullptr : transport.receiver(previous, {.lane = Lane::hop}, in);
  const auto sender = is_alone ? nullptr : transport.sender(next, {.lane = Lane::hop}, out);
  if (!is_alone) receiver->start();
  for (std::size_t i = 0; i < 10; ++i) ring(*group, Lane::hop, 1000, i);
  if (is_alone) return;
  claim(!receiver->done(), "what a group sends does not reach the others' lanes");
  meet(transport);
  sender->start(out.size());
  await(*receiver, "the receive");
  await(*sender, "the send");
  claim(same(in, text(100, previous, transport.rank())), "the message came as it was sent");
}

void allreduce_sums(Transport& transport) {
  const std::size_t size = transport.size();
  for (const std::size_t elements : {1, 5, 4099, 100003}) {
    std::vector<float> values(elements), sums(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      values[i] = static_cast<float>(transport.rank() * 3 + i % 17);
      sums[i] = static_cast<float>(3 * (size * (size - 1) / 2) + size * (i % 17));  // exact
    }
    transport.allreduce(values);
    claim(values == sums, std::to_string(elements) + " elements are the sums");
  }
}

void waiting_ends_in_time_when_nothing_comes(Transport& transport) {
  if (transport.size() == 1) return;
  using Clock = std::chrono::steady_clock;
  Bytes in(100);
  const Bytes out(100);
  const auto receiver = transport.receiver(previous_of(transport), {.lane = Lane::up}, in);
  const auto sender = transport.sender(next_of(transport), {.lane = Lane::up}, out);
  receiver->start();
  for (const auto time : {0us, 100us, 30000us}) {
    const auto start = Clock::now();
    claim(!receiver->wait_for(time), "nothing comes");
    const auto waited = Clock::now() - start;
    claim(waited >= time, "it waits as long as it was told to");
    claim(waited < time + 5s, "and not much longer");  // other tests use the cores as well
  }
  meet(transport);
  sender->start(out.size());
  await(*receiver, "the receive");
  await(*sender, "the send");
}

void another_thread_may_go_on(Transport& transport) {
  ring(transport, Lane::up, 1000, 0);
  std::exception_ptr failure;
  std::thread([&] {
    try {
      ring(transport, Lane::up, 200000, 1);
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  ring(transport, Lane::up, 1000, 2);
}

// On a lane that nobody uses afterwards: its next message may still be meant for the receiver that
// was given up.
void receivers_given_up_do_no_harm(Transport& transport) {
  if (transport.size() == 1) return;
  const Tag tag{.lane = Lane::down, .group = 9};
  Bytes in(100);
  {
    const auto receiver = transport.receiver(previous_of(transport), tag, in);
    receiver->start();
    claim(!receiver->wait_for(1ms), "nothing comes");
  }
  meet(transport);
  ring(transport, Lane::up, 1000, 0);
  ring(transport, Lane::down, 1000, 1);
}

constexpr TransportScenario kScenarios[] = {
    {"MessagesGoRound", messages_go_round},
    {"OrderIsKeptInALane", order_is_kept_in_a_lane},
    {"LanesDoNotWaitForOneAnother", lanes_do_not_wait_for_one_another},
    {"ExchangesDoNotMix", exchanges_do_not_mix},
    {"MessagesMayBeInParts", messages_may_be_in_parts},
    {"AnyTransferEndsAWait", any_transfer_ends_a_wait},
    {"MemoryMayBeLongerThanTheMessage", memory_may_be_longer_than_the_message},
    {"EmptyMessagesArrive", empty_messages_arrive},
    {"LongMessagesPassOneAnother", long_messages_pass_one_another},
    {"MessagesWaitForTheirReceivers", messages_wait_for_their_receivers},
    {"TransfersStartAgainAndAgain", transfers_start_again_and_again},
    {"EverybodySendsToEverybody", everybody_sends_to_everybody},
    {"GroupsDoNotMix", groups_do_not_mix},
    {"AllreduceSums", allreduce_sums},
    {"WaitingEndsInTimeWhenNothingComes", waiting_ends_in_time_when_nothing_comes},
    {"AnotherThreadMayGoOn", another_thread_may_go_on},
    {"ReceiversGivenUpDoNoHarm", receivers_given_up_do_no_harm},
};

std::string at(const TransportScenario& scenario, const Transport& transport) {
  return std::string(scenario.name) + ", rank " + std::to_string(transport.rank()) + " of " +
         std::to_string(transport.size()) + ": ";
}

}  // namespace

std::span<const TransportScenario> transport_scenarios() { return kScenarios; }

void run_scenario(const TransportScenario& scenario, Transport& transport) {
  try {
    scenario.run(transport);
    meet(transport);
  } catch (const PeerError& error) {
    throw PeerError(at(scenario, transport) + error.what(), error.rank());
  } catch (const std::exception& error) {
    throw std::runtime_error(at(scenario, transport) + error.what());
  }
}

}  // namespace gradwire
