// ViewMail: the messages of one view's exchanges, between the connections of the members and the
// communicator of the view. Its transport has no connections of its own: what a rank sends is
// handed to the owner of the connections, and what comes is delivered by it. So a new view needs no
// new connections.
//
// It can be stopped: then nothing is sent any more, and only results come that another member was
// asked for. It can be ended: then everybody who waits gets StepAborted. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/core/error.h"
#include "gradwire/transport/transport.h"

namespace gradwire::elastic {

// The step is given up here. It is no failure of a peer: the group decides how to continue.
class StepAborted : public Error {
 public:
  StepAborted() : Error("the step was given up, since the group changes") {}
};

class ViewMail : public std::enable_shared_from_this<ViewMail> {
 public:
  using Send =
      std::function<void(std::size_t rank, std::uint32_t tag, std::span<const std::byte> bytes)>;

  // `send` is called on the thread that uses the transport.
  ViewMail(std::size_t rank, std::vector<std::string> addresses, Send send);

  // Every peer says what this rank says: for replaying steps of a group that this process was not
  // part of. The ranks of such a group agree on everything.
  static std::shared_ptr<ViewMail> make_echo(std::size_t ranks);

  // Of this view. Keeps the mail alive.
  std::unique_ptr<Transport> make_transport();

  // False: the message is longer than it may be, and the sender is not to be trusted.
  bool deliver(std::size_t rank, std::uint32_t tag, std::span<const std::byte> bytes);

  // The next exchange begins: what give_results() counts from.
  void begin_step();
  // The result frames of a rank in the exchange under way, from another member. What came from the
  // rank itself is left out.
  void give_results(std::size_t rank, Lane lane,
                    std::span<const std::span<const std::byte>> frames);

  void stop();
  void end();
  bool is_over() const;  // stopped or ended

 private:
  friend class MailSender;
  friend class MailReceiver;
  friend class MailTransport;

  class Slot;
  struct Queue {
    Lane lane = Lane::presence;
    std::deque<std::vector<std::byte>> stored;  // that came before they were expected
    std::deque<Slot*> waiting;
    std::size_t taken = 0;
    std::size_t taken_before = 0;  // the step
  };

  static bool put(Queue& queue, std::span<const std::byte> bytes);

  const std::size_t rank_;
  const std::vector<std::string> addresses_;
  Send send_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::size_t, std::uint32_t>, Queue> queues_;  // by rank and tag
  bool is_stopped_ = false;
  bool is_ended_ = false;
  bool has_news_ = false;  // since the last wait_for_any()
};

}  // namespace gradwire::elastic
