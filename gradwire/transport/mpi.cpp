#include "gradwire/transport/mpi.h"

#ifndef GRADWIRE_HAS_MPI

namespace gradwire {

bool has_mpi() { return false; }

std::unique_ptr<Transport> make_mpi_transport() {
  throw StartError(
      "this build of gradwire has no MPI: install libopenmpi-dev, then configure and build again");
}

}  // namespace gradwire

#else

#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/check_transfer.h"

namespace gradwire {
namespace {

using Clock = std::chrono::steady_clock;

// MPI has no way to sleep until a message comes. Ranks often share cores: one that waits first lets
// the others run and then sleeps, for about as long as the system's timers are late anyway.
constexpr int kYields = 50;
constexpr std::chrono::microseconds kNap{30};

// `waits`: how often the caller has waited for the same thing before.
void wait_a_moment(int waits) {
  if (waits < kYields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(kNap);
  }
}

// How long a transfer that is given up may still use its memory while MPI lets go of it.
constexpr std::chrono::milliseconds kGiveUpTime{100};

// The end of the job kills every rank at once. Those that learn of the reason at the same time as
// this one get as long to say it.
constexpr std::chrono::milliseconds kLastWordsTime{500};

std::string error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  return {text.data(), static_cast<std::size_t>(length)};
}

void check_start(int code, const char* call) {
  if (code != MPI_SUCCESS) throw StartError(std::string(call) + ": " + error_text(code));
}

int to_int(std::size_t number) {
  GW_CHECK(number <= INT_MAX);
  return static_cast<int>(number);
}

// Ends the job with this process. Not earlier, since only the program can say what went wrong.
void end_job() noexcept {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over) return;
  std::fflush(nullptr);  // MPI_Abort does not return
  std::this_thread::sleep_for(kLastWordsTime);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Whether a transport was abandoned, for all that belongs to it. Then MPI is neither finalised nor
// asked for anything that may wait for a peer.
class Abandonment {
 public:
  void declare() noexcept {
    if (since_) return;
    since_ = Clock::now();
    static std::once_flag once;
    std::call_once(once, [] { std::atexit(end_job); });
  }

  bool is_declared() const { return since_.has_value(); }

  // All transfers of an abandoned transport are given up at once, and have that time together.
  Clock::time_point give_up_end() const { return since_.value_or(Clock::now()) + kGiveUpTime; }

 private:
  std::optional<Clock::time_point> since_;
};

// A communicator of our own, so that nothing gets mixed up with the program's messages. Errors come
// back to us instead of ending the job.
class Channel {
 public:
  explicit Channel(const Abandonment& abandonment) : abandonment_(abandonment) {
    check_start(MPI_Comm_dup(MPI_COMM_WORLD, &handle_), "MPI_Comm_dup");
    check_start(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  ~Channel() {
    if (!abandonment_.is_declared()) MPI_Comm_free(&handle_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  MPI_Comm get() const { return handle_; }

 private:
  const Abandonment& abandonment_;
  MPI_Comm handle_ = MPI_COMM_NULL;
};

// MPI from its start to its end, if it is ours to start and to end.
class Runtime {
 public:
  explicit Runtime(const Abandonment& abandonment) : abandonment_(abandonment) {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over) throw StartError("MPI has ended in this process and cannot be started again");

    int is_on = 0;
    MPI_Initialized(&is_on);
    int thread_support = MPI_THREAD_SINGLE;
    if (is_on) {
      check_start(MPI_Query_thread(&thread_support), "MPI_Query_thread");
    } else {
      check_start(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &thread_support),
                  "MPI_Init_thread");
      is_ours_ = true;
    }
    // One thread at a time, but not always the one that is here now.
    if (thread_support < MPI_THREAD_SERIALIZED) {
      end();
      throw StartError(
          "MPI does not allow calls from more than one thread: initialise it with "
          "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
    }
  }
  ~Runtime() { end(); }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

 private:
  void end() {
    if (is_ours_ && !abandonment_.is_declared()) MPI_Finalize();
  }

  const Abandonment& abandonment_;
  bool is_ours_ = false;
};

// The peer of a transfer, as MPI and as messages name it.
struct Peer {
  MPI_Comm channel;
  std::size_t rank;
  int tag;
  std::string who;  // "rank 2 (host node3)"
};

// What a sender and a receiver have in common: one request at a time.
class Request {
 public:
  Request(Peer peer, const Abandonment& abandonment)
      : peer_(std::move(peer)), abandonment_(abandonment) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  const Peer& peer() const { return peer_; }

  // `post` starts the operation and returns MPI's code.
  template <class Post>
  void start(Post post) {
    throw_if_abandoned();
    check_can_start(handle_ != MPI_REQUEST_NULL);
    failure_.reset();
    note(post(&handle_));
    throw_failure();
  }

  bool done() {
    throw_if_abandoned();
    throw_failure();
    int is_done = 0;
    note(MPI_Test(&handle_, &is_done, MPI_STATUS_IGNORE));
    throw_failure();
    return is_done != 0;
  }

  bool wait_for(std::chrono::microseconds time) {
    const Clock::time_point end = Clock::now() + time;
    for (int waits = 0; !done(); ++waits) {
      if (Clock::now() >= end) return false;
      wait_a_moment(waits);
    }
    return true;
  }

  void cancel() {
    if (handle_ != MPI_REQUEST_NULL) MPI_Cancel(&handle_);
  }

  // Short messages, and receives that were cancelled in time, end at once. The rest gets a moment,
  // because MPI would go on using memory that its owner may free next; then it is let go, because a
  // peer that is gone must not hold us up.
  void give_up() noexcept {
    const Clock::time_point end = abandonment_.give_up_end();
    while (handle_ != MPI_REQUEST_NULL) {
      int is_done = 0;
      if (MPI_Test(&handle_, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
      if (is_done) return;
      if (Clock::now() >= end) {
        MPI_Request_free(&handle_);
        return;
      }
      std::this_thread::sleep_for(kNap);
    }
  }

 private:
  void note(int code) {
    if (code == MPI_SUCCESS) return;
    int kind = MPI_ERR_OTHER;
    MPI_Error_class(code, &kind);
    failure_ = kind == MPI_ERR_TRUNCATE
                   ? peer_.who + " sent a message longer than the memory for it"
                   : "the connection to " + peer_.who + " failed: " + error_text(code);
    if (handle_ != MPI_REQUEST_NULL) MPI_Request_free(&handle_);  // MPI keeps those that failed
  }

  void throw_failure() const {
    if (failure_) throw PeerError(*failure_, peer_.rank);
  }

  void throw_if_abandoned() const {
    if (!abandonment_.is_declared()) return;
    throw PeerError("this rank has given up its connection to " + peer_.who, peer_.rank);
  }

  const Peer peer_;
  const Abandonment& abandonment_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
  std::optional<std::string> failure_;
};

class MpiSender final : public Sender {
 public:
  MpiSender(Peer peer, const Abandonment& abandonment, std::span<const std::byte> memory)
      : request_(std::move(peer), abandonment), memory_(memory) {}
  ~MpiSender() override { request_.give_up(); }

  bool done() override { return request_.done(); }
  bool wait_for(std::chrono::microseconds time) override { return request_.wait_for(time); }

  void start(std::size_t bytes, MessageToSend::Parts parts) override {
    check_message_bytes(bytes, memory_.size());
    request_.start([&](MPI_Request* handle) {
      std::span<const std::byte> message = memory_.first(bytes);
      if (!parts.empty()) {
        const MessageToSend scattered(message, parts);
        joined_.resize(scattered.bytes());
        scattered.copy_out(joined_);
        message = joined_;
      }
      const Peer& peer = request_.peer();
      return MPI_Isend(message.data(), to_int(message.size()), MPI_BYTE, to_int(peer.rank),
                       peer.tag, peer.channel, handle);
    });
  }

 private:
  Request request_;
  const std::span<const std::byte> memory_;
  std::vector<std::byte> joined_;  // a message in parts: MPI takes one stretch
};

class MpiReceiver final : public Receiver {
 public:
  MpiReceiver(Peer peer, const Abandonment& abandonment, std::span<std::byte> memory)
      : request_(std::move(peer), abandonment), memory_(memory) {}
  ~MpiReceiver() override {
    request_.cancel();
    request_.give_up();
  }

  bool done() override { return request_.done() && take_apart(); }
  bool wait_for(std::chrono::microseconds time) override {
    return request_.wait_for(time) && take_apart();
  }

  // Nobody may send more than the memory holds: Open MPI 4.1.4 reports it, but where it copies from
  // process to process, or puts by TCP, it first writes behind the memory.
  void start(MessageRoom::Parts parts) override {
    request_.start([&](MPI_Request* handle) {
      std::span<std::byte> memory = memory_;
      if (!parts.empty()) {
        room_ = MessageRoom(memory_, parts);
        is_joined_ = true;
        joined_.resize(room_.bytes());
        memory = joined_;
      }
      const Peer& peer = request_.peer();
      return MPI_Irecv(memory.data(), to_int(memory.size()), MPI_BYTE, to_int(peer.rank), peer.tag,
                       peer.channel, handle);
    });
  }

 private:
  // The message is there.
  bool take_apart() {
    if (is_joined_) room_.copy_in(0, joined_);
    is_joined_ = false;
    return true;
  }

  Request request_;
  const std::span<std::byte> memory_;
  MessageRoom room_;
  std::vector<std::byte> joined_;  // a message in parts: MPI takes one stretch
  bool is_joined_ = false;         // it is to be taken apart
};

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int rank = 0;
    int size = 0;
    check_start(MPI_Comm_rank(messages_.get(), &rank), "MPI_Comm_rank");
    check_start(MPI_Comm_size(messages_.get(), &size), "MPI_Comm_size");
    rank_ = static_cast<std::size_t>(rank);
    learn_hosts(static_cast<std::size_t>(size));
    learn_tag_max();
  }

  const char* name() const override { return "mpi"; }
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return hosts_.size(); }
  std::string address(std::size_t rank) const override { return "host " + hosts_.at(rank); }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    return std::make_unique<MpiSender>(peer_of(peer, tag), abandonment_, memory);
  }

  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    return std::make_unique<MpiReceiver>(peer_of(peer, tag), abandonment_, memory);
  }

  // A moment: MPI cannot say which transfers have come further. Who comes back at once has found
  // nothing.
  void wait_for_any(std::chrono::microseconds) override {
    constexpr std::chrono::microseconds kAtOnce{200};
    waits_ = Clock::now() - last_wait_end_ < kAtOnce ? waits_ + 1 : 0;
    wait_a_moment(waits_);
    last_wait_end_ = Clock::now();
  }
  void wake() noexcept override {}  // waits are shorter than a wake-up

  void allreduce(std::span<float> values) override {
    if (abandonment_.is_declared()) {
      throw PeerError("this rank has given up its connections", rank_);
    }
    constexpr std::size_t kElementsMax = std::size_t{1} << 30;  // MPI counts in int
    while (!values.empty()) {
      const std::size_t count = std::min(values.size(), kElementsMax);
      const int code = MPI_Allreduce(MPI_IN_PLACE, values.data(), to_int(count), MPI_FLOAT, MPI_SUM,
                                     yardstick_.get());
      if (code != MPI_SUCCESS) throw Error("MPI_Allreduce: " + error_text(code));
      values = values.subspan(count);
    }
  }

  void abandon() noexcept override { abandonment_.declare(); }

 private:
  void learn_hosts(std::size_t size) {
    using HostName = std::array<char, MPI_MAX_PROCESSOR_NAME>;
    HostName mine{};
    int length = 0;
    check_start(MPI_Get_processor_name(mine.data(), &length), "MPI_Get_processor_name");
    std::vector<HostName> all(size);
    check_start(MPI_Allgather(mine.data(), to_int(mine.size()), MPI_CHAR, all.data(),
                              to_int(mine.size()), MPI_CHAR, messages_.get()),
                "MPI_Allgather");
    for (const HostName& host : all) {
      hosts_.emplace_back(host.begin(), std::find(host.begin(), host.end(), '\0'));
    }
  }

  // MPI promises tags up to 32767 only; what there is, is an attribute of the communicator.
  void learn_tag_max() {
    int* value = nullptr;
    int is_there = 0;
    check_start(MPI_Comm_get_attr(messages_.get(), MPI_TAG_UB, &value, &is_there),
                "MPI_Comm_get_attr");
    tag_max_ = is_there ? static_cast<std::uint32_t>(*value) : 32767;
  }

  Peer peer_of(std::size_t rank, Tag tag) const {
    check_peer(rank, rank_, size());
    if (tag.number() > tag_max_) {
      throw Error("this MPI has no tags above " + std::to_string(tag_max_) + ", and group " +
                  std::to_string(tag.group) + " needs " + std::to_string(tag.number()));
    }
    return {.channel = messages_.get(),
            .rank = rank,
            .tag = to_int(tag.number()),
            .who = "rank " + std::to_string(rank) + " (" + address(rank) + ")"};
  }

  Abandonment abandonment_;
  // Before the channels: they need it from their first to their last moment.
  Runtime runtime_{abandonment_};
  Channel messages_{abandonment_};
  Channel yardstick_{abandonment_};
  std::size_t rank_ = 0;
  std::vector<std::string> hosts_;  // by rank
  std::uint32_t tag_max_ = 0;
  int waits_ = 0;  // in a row
  Clock::time_point last_wait_end_;
};

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Transport> make_mpi_transport() { return std::make_unique<MpiTransport>(); }

}  // namespace gradwire

#endif
