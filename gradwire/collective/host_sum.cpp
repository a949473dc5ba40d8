#include "gradwire/collective/host_sum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "gradwire/collective/progress.h"
#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/transport/shared_memory.h"

namespace gradwire {
namespace {

constexpr std::size_t kLine = 64;  // bytes
constexpr std::size_t kBlockElements = 4096;
constexpr std::size_t kTurns = 2;

std::size_t whole_lines(std::size_t elements) {
  constexpr std::size_t kInLine = kLine / sizeof(float);
  return (elements + kInLine - 1) / kInLine * kInLine;
}

struct SlotFacts {
  std::uint64_t exchanges;
  std::uint64_t poisoned;
  std::uint64_t uploads;
  std::uint64_t uploads_skipped;
  bool wants_gradient;
};

// The beginning of a rank's slot. Facts are written in turns: a rank that has heard all others may
// write its next ones while another rank still reads. For each turn, a byte for each host follows:
// whether it was late.
struct alignas(kLine) SlotHead {
  std::uint64_t rung;  // atomic: how often this rank has told the others
  std::array<SlotFacts, kTurns> facts;
};
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

}  // namespace

void PartFacts::add(const PartFacts& other) {
  exchanges += other.exchanges;
  poisoned += other.poisoned;
  uploads = std::max(uploads, other.uploads);
  uploads_skipped = std::max(uploads_skipped, other.uploads_skipped);
  wants_gradient = wants_gradient || other.wants_gradient;
  const std::vector<std::size_t> before = std::exchange(late_hosts, {});
  std::ranges::set_union(before, other.late_hosts, std::back_inserter(late_hosts));
}

// The memory: a slot for each rank, with its facts and room for all tensors. In its slot a rank
// writes its values of the others' parts, and in the place of its own part the mean.
class HostSum::Slots {
 public:
  Slots(HostGroups& groups, Options options)
      : local_(*groups.local), place_(groups.place), options_(std::move(options)) {
    for (const TensorSize& tensor : options_.tensors) {
      at_.push_back(elements_);
      elements_ += whole_lines(tensor.elements);
    }
    own_.resize(options_.tensors.size());
    for (const TensorPiece& piece : part_of(place_)) own_[piece.tensor] = piece;
    memory_ = groups.share_memory(bytes());
  }

  std::size_t ranks() const { return local_.size(); }
  std::size_t place() const { return place_; }
  std::size_t bytes() const { return ranks() * slot_bytes(); }
  const Options& options() const { return options_; }
  const TensorPiece& own(std::size_t tensor) const { return own_[tensor]; }
  std::span<const TensorPiece> part_of(std::size_t place) const {
    return place < options_.parts.size() ? options_.parts[place] : std::span<const TensorPiece>();
  }

  std::atomic_ref<std::uint64_t> rung(std::size_t rank) { return std::atomic_ref(head(rank).rung); }
  void write_facts(const PartFacts& facts, std::size_t turn) {
    head(place_).facts[turn] = {.exchanges = facts.exchanges,
                                .poisoned = facts.poisoned,
                                .uploads = facts.uploads,
                                .uploads_skipped = facts.uploads_skipped,
                                .wants_gradient = facts.wants_gradient};
    const std::span<std::byte> is_late = late_hosts(place_, turn);
    std::ranges::fill(is_late, std::byte(0));
    for (const std::size_t host : facts.late_hosts) is_late[host] = std::byte(1);
  }
  PartFacts facts_of(std::size_t rank, std::size_t turn) {
    const SlotFacts& of = head(rank).facts[turn];
    PartFacts facts{.exchanges = of.exchanges,
                    .poisoned = of.poisoned,
                    .uploads = of.uploads,
                    .uploads_skipped = of.uploads_skipped,
                    .wants_gradient = of.wants_gradient};
    const std::span<const std::byte> is_late = late_hosts(rank, turn);
    for (std::size_t host = 0; host < is_late.size(); ++host) {
      if (is_late[host] != std::byte(0)) facts.late_hosts.push_back(host);
    }
    return facts;
  }
  std::span<float> values(std::size_t rank, const TensorPiece& piece) {
    auto* const all = reinterpret_cast<float*>(slot(rank) + values_at());
    return {all + at_[piece.tensor] + piece.first, piece.elements};
  }

  Communicator& local() { return local_; }

 private:
  std::byte* slot(std::size_t rank) { return memory_->bytes().data() + rank * slot_bytes(); }
  SlotHead& head(std::size_t rank) { return *reinterpret_cast<SlotHead*>(slot(rank)); }
  std::span<std::byte> late_hosts(std::size_t rank, std::size_t turn) {
    return {slot(rank) + sizeof(SlotHead) + turn * options_.hosts, options_.hosts};
  }
  std::size_t values_at() const {
    return sizeof(SlotHead) + (kTurns * options_.hosts + kLine - 1) / kLine * kLine;
  }
  std::size_t slot_bytes() const { return values_at() + elements_ * sizeof(float); }

  Communicator& local_;
  const std::size_t place_;
  const Options options_;
  std::vector<std::size_t> at_;  // by tensor: its first element in a slot
  std::size_t elements_ = 0;     // of a slot
  std::vector<TensorPiece> own_;
  std::shared_ptr<SharedMemory> memory_;
};

// Tells other ranks of the host that something is in this rank's slot, and waits until they have
// told the same. Only ranks that hear are told, and wait.
class HostSum::Bell {
 public:
  using Hears = std::function<bool(std::size_t rank)>;
  Bell(Slots& slots, std::uint32_t number, Lane lane, const Hears& hears)
      : slots_(slots), in_(slots.ranks()) {
    const Tag tag{.lane = lane, .exchange = Communicator::Impl::exchange_tag(number)};
    slots.local().impl().call([&](PeerLinks& links) {
      for (std::size_t rank = 0; rank < in_.size(); ++rank) {
        if (rank == slots.place()) continue;
        if (hears(rank)) senders_.push_back(links.transport.sender(rank, tag, out_));
        if (!hears(slots.place())) continue;
        receivers_.push_back(
            {.rank = rank, .receiver = links.transport.receiver(rank, tag, in_[rank])});
      }
    });
  }

  void listen() {
    for (Listener& listener : receivers_) {
      listener.receiver->start();
      listener.is_heard = false;
    }
  }

  // All that this rank has written before is there for those who hear it.
  void ring(std::uint64_t step) {
    const std::atomic_ref<std::uint64_t> rung = slots_.rung(slots_.place());
    const std::uint64_t count = rung.load(std::memory_order_relaxed) + 1;
    rung.store(count, std::memory_order_release);
    store_le(std::span<std::byte>(out_), 0, count);
    store_le(std::span<std::byte>(out_), sizeof count, step);
    for (const auto& sender : senders_) sender->start(out_.size());
  }

  // Whether all have rung, and heard it. What they wrote is there then.
  bool is_over(PeerLinks& links, std::uint64_t step) {
    bool is_over = true;
    for (Listener& listener : receivers_) {
      if (!listener.is_heard && listener.receiver->done()) hear(listener, links, step);
      is_over = is_over && listener.is_heard;
    }
    return is_over &&
           std::ranges::all_of(senders_, [](const auto& sender) { return sender->done(); });
  }

 private:
  using Message = std::array<std::byte, 2 * sizeof(std::uint64_t)>;
  struct Listener {
    std::size_t rank = 0;
    std::unique_ptr<Receiver> receiver = {};
    bool is_heard = false;
  };

  void hear(Listener& listener, PeerLinks& links, std::uint64_t step) {
    const std::span<const std::byte> message(in_[listener.rank]);
    const auto count = load_le<std::uint64_t>(message, 0);
    if (slots_.rung(listener.rank).load(std::memory_order_acquire) < count) {
      links.presence.fail(listener.rank, "its shared memory is not the one of this host");
    }
    if (const auto theirs = load_le<std::uint64_t>(message, sizeof count); theirs != step) {
      links.presence.fail(listener.rank, "it is at step " + std::to_string(theirs + 1) +
                                             ", its host is at step " + std::to_string(step + 1));
    }
    links.presence.heard(listener.rank);
    listener.is_heard = true;
  }

  Slots& slots_;
  Message out_{};
  std::vector<Message> in_;  // by rank
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<Listener> receivers_;
};

class HostSum::Sum final : public Job {
 public:
  Sum(Slots& slots, std::size_t first, std::size_t last, std::uint32_t number)
      : Job(Communicator::Impl::exchange_tag(number)),
        slots_(slots),
        first_(first),
        last_(last),
        bell_(slots, number, Lane::up, [&](std::size_t place) { return has_part(place); }) {}

  void start(std::uint64_t step, float weight, std::span<const std::span<float>> values) {
    GW_CHECK(!is_started_);
    step_ = step;
    weight_ = weight;
    values_ = values;
    is_started_ = true;
    slots_.local().impl().queue(*this);
  }
  void wait() {
    if (!std::exchange(is_started_, false)) return;
    slots_.local().impl().wait(*this);
    spent_ += seconds();
  }
  double take_seconds() { return std::exchange(spent_, 0); }

  void begin(PeerLinks& links) override {
    links.presence.set_step(step_);
    bell_.listen();
    for (std::size_t place = 0; place < slots_.ranks(); ++place) {
      if (place == slots_.place()) continue;
      for (const TensorPiece& piece : slots_.part_of(place)) {
        if (is_in_group(piece)) write(own_values(piece), slots_.values(slots_.place(), piece));
      }
    }
    bell_.ring(step_);
  }

  Turn advance(PeerLinks& links) override {
    if (!bell_.is_over(links, step_)) return Turn::waiting;
    for (const TensorPiece& piece : slots_.part_of(slots_.place())) {
      if (is_in_group(piece)) average(piece);
    }
    return Turn::finished;
  }

 private:
  // Ranks without a part have nothing to add up, and wait for nobody.
  bool has_part(std::size_t place) const {
    return std::ranges::any_of(slots_.part_of(place),
                               [&](const TensorPiece& piece) { return is_in_group(piece); });
  }
  bool is_in_group(const TensorPiece& piece) const {
    return piece.tensor >= first_ && piece.tensor < last_;
  }
  std::span<const float> own_values(const TensorPiece& piece) const {
    return values_[piece.tensor].subspan(piece.first, piece.elements);
  }

  void write(std::span<const float> values, std::span<float> where) const {
    if (weight_ == 1) {
      std::ranges::copy(values, where.begin());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) where[i] = weight_ * values[i];
    }
  }

  // Block by block, so that the mean stays in the cache.
  void average(const TensorPiece& piece) {
    const auto share = static_cast<float>(1 / static_cast<double>(slots_.ranks()));
    for (std::size_t done = 0; done < piece.elements; done += kBlockElements) {
      const TensorPiece block{.tensor = piece.tensor,
                              .first = piece.first + done,
                              .elements = std::min(kBlockElements, piece.elements - done)};
      const std::span<float> mean = slots_.values(slots_.place(), block);
      std::array<float, kBlockElements> memory;
      const std::span<float> own = std::span(memory).first(block.elements);
      write(own_values(block), own);
      for (std::size_t rank = 0; rank < slots_.ranks(); ++rank) {
        const std::span<const float> term =
            rank == slots_.place() ? own : std::span<const float>(slots_.values(rank, block));
        if (rank == 0) {
          std::ranges::copy(term, mean.begin());
        } else {
          kernel::combine(1, mean, 1, term, mean);
        }
      }
      for (float& value : mean) value *= share;
    }
  }

  Slots& slots_;
  const std::size_t first_;
  const std::size_t last_;
  Bell bell_;
  std::uint64_t step_ = 0;
  float weight_ = 1;
  std::span<const std::span<float>> values_;
  bool is_started_ = false;
  double spent_ = 0;
};

class HostSum::Gather final : public Job {
 public:
  Gather(Slots& slots, std::uint32_t number)
      : Job(Communicator::Impl::exchange_tag(number)),
        slots_(slots),
        bell_(slots, number, Lane::down, [](std::size_t) { return true; }) {}

  PartFacts run(std::uint64_t step, const PartFacts& own,
                std::span<const std::span<float>> outputs) {
    step_ = step;
    outputs_ = outputs;
    facts_ = {};
    turn_ = (turn_ + 1) % kTurns;
    slots_.write_facts(own, turn_);
    slots_.local().impl().queue(*this);
    slots_.local().impl().wait(*this);
    spent_ += seconds();
    return facts_;
  }
  double take_seconds() { return std::exchange(spent_, 0); }

  void begin(PeerLinks& links) override {
    links.presence.set_step(step_);
    bell_.listen();
    bell_.ring(step_);
  }

  Turn advance(PeerLinks& links) override {
    if (!bell_.is_over(links, step_)) return Turn::waiting;
    for (std::size_t rank = 0; rank < slots_.ranks(); ++rank) {
      facts_.add(slots_.facts_of(rank, turn_));
      for (const TensorPiece& piece : slots_.part_of(rank)) {
        std::ranges::copy(slots_.values(rank, piece),
                          outputs_[piece.tensor].subspan(piece.first).begin());
      }
    }
    return Turn::finished;
  }

 private:
  Slots& slots_;
  Bell bell_;
  std::uint64_t step_ = 0;
  std::span<const std::span<float>> outputs_;
  std::size_t turn_ = 0;
  PartFacts facts_;
  double spent_ = 0;
};

HostSum::HostSum(HostGroups& groups, Options options)
    : slots_(std::make_unique<Slots>(groups, std::move(options))) {
  Communicator::Impl& local = groups.local->impl();
  std::size_t first = 0;
  for (const std::size_t end : slots_->options().group_ends) {
    sums_.push_back(std::make_unique<Sum>(*slots_, first, end, local.take_exchange_number()));
    first = end;
  }
  GW_CHECK(first == slots_->options().tensors.size());
  gather_ = std::make_unique<Gather>(*slots_, local.take_exchange_number());
}

HostSum::~HostSum() { settle(); }

std::span<float> HostSum::part(std::size_t tensor) {
  return slots_->values(slots_->place(), slots_->own(tensor));
}

void HostSum::start(std::size_t group, std::uint64_t step, float weight,
                    std::span<const std::span<float>> values) {
  sums_[group]->start(step, weight, values);
}

void HostSum::wait(std::size_t group) { sums_[group]->wait(); }

PartFacts HostSum::gather(std::uint64_t step, const PartFacts& own,
                          std::span<const std::span<float>> outputs) {
  return gather_->run(step, own, outputs);
}

void HostSum::settle() noexcept {
  for (const auto& sum : sums_) {
    try {
      sum->wait();
    } catch (const std::exception&) {
    }
  }
}

double HostSum::take_seconds() {
  double seconds = gather_->take_seconds();
  for (const auto& sum : sums_) seconds += sum->take_seconds();
  return seconds;
}

std::size_t HostSum::shared_bytes() const { return slots_->bytes(); }

}  // namespace gradwire
