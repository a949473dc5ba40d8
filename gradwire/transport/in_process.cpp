#include "gradwire/transport/in_process.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/check_transfer.h"

namespace gradwire {
namespace {

class InProcessSender;
class InProcessReceiver;

// First in, first out, linked through the transfers themselves, so that queueing does not allocate.
template <class TransferType>
class TransferQueue {
 public:
  void push(TransferType& transfer) {
    transfer.next = nullptr;
    (last_ ? last_->next : first_) = &transfer;
    last_ = &transfer;
  }

  // Null if nobody waits.
  TransferType* pop() {
    TransferType* const transfer = first_;
    if (transfer) remove(*transfer);
    return transfer;
  }

  void remove(TransferType& transfer) {
    TransferType* before = nullptr;
    TransferType* here = first_;
    while (here != &transfer) {
      GW_CHECK(here != nullptr);
      before = here;
      here = here->next;
    }
    (before ? before->next : first_) = transfer.next;
    if (last_ == &transfer) last_ = before;
  }

 private:
  TransferType* first_ = nullptr;
  TransferType* last_ = nullptr;
};

// Where the two ends of a lane meet. Only one of the lines has somebody in it.
struct Mailbox {
  std::mutex mutex;
  TransferQueue<InProcessSender> senders;
  TransferQueue<InProcessReceiver> receivers;
};

// One rank, as the others see it.
struct Place {
  std::mutex mutex;  // what this rank waits for changes under it
  std::condition_variable wake;
  std::atomic<bool> joined = false;
  std::atomic<bool> left = false;
  // For wait_for_any(), under the mutex: a transfer has come further since the last wait.
  bool has_news = false;

  void tell() noexcept {
    {
      const std::lock_guard lock(mutex);  // whoever looked before this waits by now
      has_news = true;
    }
    wake.notify_all();
  }
};

std::string where(std::size_t rank) { return "thread " + std::to_string(rank); }

std::string who(std::size_t rank) {
  return "rank " + std::to_string(rank) + " (" + where(rank) + ")";
}

// All ranks meet here; one that leaves ends the wait of the others.
class Gate {
 public:
  explicit Gate(std::size_t size) : size_(size) {}

  void pass() {
    std::unique_lock lock(mutex_);
    if (left_) throw_left();
    const std::size_t round = round_;
    if (++waiting_ == size_) {
      waiting_ = 0;
      ++round_;
      open_.notify_all();
      return;
    }
    open_.wait(lock, [&] { return round_ != round || left_; });
    if (round_ == round) throw_left();
  }

  void leave(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    if (left_) return;
    left_ = true;
    rank_left_ = rank;
    open_.notify_all();
  }

 private:
  [[noreturn]] void throw_left() const {
    throw PeerError(who(rank_left_) + " has left", rank_left_);
  }

  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable open_;
  std::size_t waiting_ = 0;
  std::size_t round_ = 0;
  bool left_ = false;
  std::size_t rank_left_ = 0;
};

struct World {
  explicit World(std::size_t size) : places(size), gate(size), arrays(size) {}

  Mailbox& mailbox(std::size_t from, std::size_t to, Tag tag) {
    const std::lock_guard lock(mutex);
    return mailboxes[{from, to, tag.number()}];  // a map: its values do not move
  }

  void leave(std::size_t rank) {
    places[rank].left = true;
    for (Place& place : places) place.tell();
    gate.leave(rank);
  }

  std::vector<Place> places;
  Gate gate;
  std::vector<std::span<float>> arrays;  // of an allreduce; written before the gate, read behind it

  std::mutex mutex;
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, Mailbox> mailboxes;
};

enum class Progress {
  idle,
  queued,    // in its mailbox, waiting for the other end
  moving,    // taken out of it: whoever came second copies
  too_long,  // the message did not fit
};

// What a sender and a receiver have in common. The owner sets progress to queued, and the end that
// comes second to moving, both under the mailbox's lock; what follows moving is set by settle().
class End {
 public:
  End(World& world, std::size_t rank, std::size_t peer) : world_(world), rank_(rank), peer_(peer) {}

  bool done() const {
    // In this order: a peer that finished this and then left has not failed us.
    const bool gone = somebody_left();
    switch (progress.load(std::memory_order_acquire)) {
      case Progress::idle:
        return true;
      case Progress::queued:
        if (gone) throw_left();
        return false;
      case Progress::moving:
        return false;
      case Progress::too_long:
        break;
    }
    throw PeerError(who(peer_) + " sent a message longer than the memory for it", peer_);
  }

  bool wait_for(std::chrono::microseconds time) const {
    if (done()) return true;
    Place& place = world_.places[rank_];
    {
      std::unique_lock lock(place.mutex);
      place.wake.wait_for(lock, time, [this] {
        const bool gone = somebody_left();
        return !under_way() || (gone && progress == Progress::queued);
      });
    }
    return done();
  }

  void check_can_start() const {
    gradwire::check_can_start(under_way());
    if (somebody_left()) throw_left();
  }

  // Waits until nobody copies from or to the memory.
  void wait_until_settled() const {
    Place& place = world_.places[rank_];
    std::unique_lock lock(place.mutex);
    place.wake.wait(lock, [this] { return progress != Progress::moving; });
  }

  // The copy is over. Called by either end's thread: afterwards its owner may destroy this.
  void settle(Progress result) {
    Place& place = world_.places[rank_];
    {
      const std::lock_guard lock(place.mutex);
      progress.store(result, std::memory_order_release);
      place.has_news = true;
    }
    place.wake.notify_all();
  }

  std::atomic<Progress> progress = Progress::idle;

 private:
  bool under_way() const {
    const Progress now = progress;
    return now == Progress::queued || now == Progress::moving;
  }

  bool somebody_left() const { return world_.places[peer_].left || world_.places[rank_].left; }

  [[noreturn]] void throw_left() const {
    const std::size_t rank = world_.places[peer_].left ? peer_ : rank_;
    throw PeerError(who(rank) + " has left", rank);
  }

  World& world_;
  const std::size_t rank_;
  const std::size_t peer_;
};

class InProcessSender final : public Sender {
 public:
  InProcessSender(World& world, std::size_t rank, std::size_t peer, Tag tag,
                  std::span<const std::byte> memory)
      : end(world, rank, peer), mailbox_(world.mailbox(rank, peer, tag)), memory_(memory) {}
  ~InProcessSender() override;

  bool done() override { return end.done(); }
  bool wait_for(std::chrono::microseconds time) override { return end.wait_for(time); }
  void start(std::size_t bytes, MessageToSend::Parts parts) override;

  const MessageToSend& message() const { return message_; }

  End end;
  InProcessSender* next = nullptr;

 private:
  Mailbox& mailbox_;
  const std::span<const std::byte> memory_;
  MessageToSend message_;
};

class InProcessReceiver final : public Receiver {
 public:
  InProcessReceiver(World& world, std::size_t rank, std::size_t peer, Tag tag,
                    std::span<std::byte> memory)
      : end(world, rank, peer), mailbox_(world.mailbox(peer, rank, tag)), memory_(memory) {}
  ~InProcessReceiver() override;

  bool done() override { return end.done(); }
  bool wait_for(std::chrono::microseconds time) override { return end.wait_for(time); }
  void start(MessageRoom::Parts parts) override;

  const MessageRoom& room() const { return room_; }

  End end;
  InProcessReceiver* next = nullptr;

 private:
  Mailbox& mailbox_;
  const std::span<std::byte> memory_;
  MessageRoom room_;
};

// Outside of the mailbox's lock: a long copy holds up nobody else.
void deliver(InProcessSender& sender, InProcessReceiver& receiver) {
  const MessageToSend& message = sender.message();
  const bool fits = message.bytes() <= receiver.room().bytes();
  if (fits) {
    std::size_t at = 0;
    message.for_each(0, message.bytes(), [&](std::span<const std::byte> part) {
      receiver.room().copy_in(at, part);
      at += part.size();
      return true;
    });
  }
  sender.end.settle(Progress::idle);
  receiver.end.settle(fits ? Progress::idle : Progress::too_long);
}

// Puts the transfer into its line, or takes the other end out of the other line.
template <class Mine, class Other>
Other* queue_or_match(Mailbox& mailbox, Mine& mine, TransferQueue<Mine>& my_queue,
                      TransferQueue<Other>& other_queue) {
  const std::lock_guard lock(mailbox.mutex);
  Other* const other = other_queue.pop();
  if (other) {
    mine.end.progress = Progress::moving;
    other->end.progress = Progress::moving;
  } else {
    mine.end.progress = Progress::queued;
    my_queue.push(mine);
  }
  return other;
}

template <class Mine>
void give_up(Mailbox& mailbox, Mine& mine, TransferQueue<Mine>& queue) {
  {
    const std::lock_guard lock(mailbox.mutex);
    if (mine.end.progress == Progress::queued) queue.remove(mine);
  }
  mine.end.wait_until_settled();
}

InProcessSender::~InProcessSender() { give_up(mailbox_, *this, mailbox_.senders); }

void InProcessSender::start(std::size_t bytes, MessageToSend::Parts parts) {
  check_message_bytes(bytes, memory_.size());
  end.check_can_start();
  message_ = MessageToSend(memory_.first(bytes), parts);
  InProcessReceiver* const receiver =
      queue_or_match(mailbox_, *this, mailbox_.senders, mailbox_.receivers);
  if (receiver) deliver(*this, *receiver);
}

InProcessReceiver::~InProcessReceiver() { give_up(mailbox_, *this, mailbox_.receivers); }

void InProcessReceiver::start(MessageRoom::Parts parts) {
  end.check_can_start();
  room_ = MessageRoom(memory_, parts);
  InProcessSender* const sender =
      queue_or_match(mailbox_, *this, mailbox_.receivers, mailbox_.senders);
  if (sender) deliver(*sender, *this);
}

// The sum of element i of all arrays, in the order of ranks, goes to element i of all arrays.
void sum_range(std::span<const std::span<float>> arrays, std::size_t first, std::size_t last) {
  std::array<float, 2048> sums;  // stays in the first cache
  for (std::size_t i = first; i < last; i += sums.size()) {
    const std::size_t count = std::min(sums.size(), last - i);
    std::copy_n(&arrays[0][i], count, sums.begin());
    for (const std::span<float> array : arrays.subspan(1)) {
      for (std::size_t j = 0; j < count; ++j) sums[j] += array[i + j];
    }
    for (const std::span<float> array : arrays) std::copy_n(sums.begin(), count, &array[i]);
  }
}

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(std::shared_ptr<World> world, std::size_t rank)
      : world_(std::move(world)), rank_(rank) {}
  ~InProcessTransport() override { world_->leave(rank_); }

  const char* name() const override { return "in-process"; }
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return world_->places.size(); }
  std::string address(std::size_t rank) const override { return where(rank); }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    check_peer(peer, rank_, size());
    return std::make_unique<InProcessSender>(*world_, rank_, peer, tag, memory);
  }

  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    check_peer(peer, rank_, size());
    return std::make_unique<InProcessReceiver>(*world_, rank_, peer, tag, memory);
  }

  void wait_for_any(std::chrono::microseconds time) override {
    Place& place = world_->places[rank_];
    std::unique_lock lock(place.mutex);
    place.wake.wait_for(lock, time, [&place] { return place.has_news; });
    place.has_news = false;
  }
  void wake() noexcept override { world_->places[rank_].tell(); }

  // Every rank sums a part of the elements for all.
  void allreduce(std::span<float> values) override {
    world_->arrays[rank_] = values;
    world_->gate.pass();
    for (const std::span<float> array : world_->arrays) {
      if (array.size() != values.size()) throw Error("allreduce: ranks gave different lengths");
    }
    const auto cut = [&](std::size_t part) { return values.size() * part / size(); };
    sum_range(world_->arrays, cut(rank_), cut(rank_ + 1));
    world_->gate.pass();
  }

  void abandon() noexcept override { world_->leave(rank_); }

 private:
  const std::shared_ptr<World> world_;
  const std::size_t rank_;
};

}  // namespace

struct InProcessWorld::State : World {
  using World::World;
};

InProcessWorld::InProcessWorld(std::size_t size) : state_(std::make_shared<State>(size)) {
  if (size == 0) throw Error("a world of no ranks: it needs at least one");
}

InProcessWorld::~InProcessWorld() = default;

std::unique_ptr<Transport> InProcessWorld::join(std::size_t rank) {
  if (rank >= state_->places.size()) {
    throw Error("there is no rank " + std::to_string(rank) + " in a world of " +
                std::to_string(state_->places.size()) + ": ranks are counted from 0");
  }
  if (state_->places[rank].joined.exchange(true)) {
    throw Error("rank " + std::to_string(rank) +
                " has joined this world before: a rank joins once");
  }
  return std::make_unique<InProcessTransport>(state_, rank);
}

}  // namespace gradwire
