// For tests: a relay between sockets, as a link that is far away. There are two kinds:
// - CountingRelay holds all bytes until nothing more comes for a while, and then delivers them in
//   both directions at once: one trip. So a test can count trips, whatever the speed of the
//   machine. A machine that is too busy makes it count more trips than there are, never fewer.
// - SlowRelay delivers every byte after a delay, and no faster than a rate.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/descriptor.h"

namespace gradwire {

class Relay {
 public:
  // The two ends of a new connection through the relay, before it is started.
  std::pair<Descriptor, Descriptor> connect() {
    auto [near, near_inside] = make_pair();
    auto [far, far_inside] = make_pair();
    lines_.push_back({std::move(near_inside), std::move(far_inside)});
    lines_.push_back(
        {Descriptor(dup(lines_.back().to.get())), Descriptor(dup(lines_.back().from.get()))});
    return {std::move(near), std::move(far)};
  }

  void start() {
    thread_ = std::thread([this] {
      while (!is_over_ && run_once()) {
      }
    });
  }
  virtual ~Relay() = default;

 protected:
  // One direction of a connection.
  struct Line {
    Descriptor from;
    Descriptor to;
    std::vector<char> held = {};
  };

  // Ends the thread; called by the destructors of the two kinds.
  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // Reads and delivers what it is time for. False: a rank has gone.
  virtual bool run_once() = 0;

  std::vector<Line>& lines() { return lines_; }

  // True if there is something to read.
  bool wait_for_bytes(std::chrono::milliseconds time) const {
    std::vector<pollfd> polled;
    for (const Line& line : lines_) polled.push_back({line.from.get(), POLLIN, 0});
    return poll(polled.data(), polled.size(), static_cast<int>(time.count())) > 0;
  }

  // Moves bytes from the socket to `held`. Nothing: the rank has gone.
  static std::optional<std::size_t> read(Line& line, std::size_t bytes_max) {
    char bytes[65536];
    const ssize_t count =
        recv(line.from.get(), bytes, std::min(sizeof(bytes), bytes_max), MSG_DONTWAIT);
    if (count == 0) return std::nullopt;
    if (count < 0) return 0;
    line.held.insert(line.held.end(), bytes, bytes + count);
    return static_cast<std::size_t>(count);
  }

  // Delivers the first bytes that are held.
  static void deliver(Line& line, std::size_t bytes) {
    const ssize_t sent = send(line.to.get(), line.held.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    GW_CHECK(sent == static_cast<ssize_t>(bytes));  // tests send little
    line.held.erase(line.held.begin(), line.held.begin() + sent);
  }

 private:
  static std::pair<Descriptor, Descriptor> make_pair() {
    int sockets[2];
    GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
    return {Descriptor(sockets[0]), Descriptor(sockets[1])};
  }

  std::vector<Line> lines_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

class CountingRelay final : public Relay {
 public:
  ~CountingRelay() override { stop(); }

  // How many times bytes were delivered.
  int trips() const { return trips_; }

  // Returns when nothing is on its way any more.
  void wait_until_quiet() const {
    const int before = quiet_times_;
    while (quiet_times_ < before + 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  // Longer than a rank takes to answer on a busy machine.
  static constexpr std::chrono::milliseconds kQuiet{150};

  bool run_once() override {
    if (wait_for_bytes(kQuiet)) {
      return std::ranges::all_of(lines(),
                                 [](Line& line) { return read(line, SIZE_MAX).has_value(); });
    }
    bool has_delivered = false;
    for (Line& line : lines()) {
      if (line.held.empty()) continue;
      deliver(line, line.held.size());
      has_delivered = true;
    }
    ++(has_delivered ? trips_ : quiet_times_);
    return true;
  }

  std::atomic<int> trips_ = 0;
  std::atomic<int> quiet_times_ = 0;  // kQuiet long, and nothing was held
};

class SlowRelay final : public Relay {
 public:
  SlowRelay(std::chrono::milliseconds delay, double bytes_per_second)
      : delay_(delay), bytes_per_second_(bytes_per_second) {}
  ~SlowRelay() override { stop(); }

  // So many were taken in the direction of which more were.
  std::size_t bytes() const { return std::max(bytes_[0].load(), bytes_[1].load()); }

 private:
  using Clock = std::chrono::steady_clock;

  // Bytes on their way, and when they arrive.
  struct Parcel {
    std::size_t line;
    std::size_t bytes;
    Clock::time_point due;
  };

  // A direction's bytes leave one after another, whichever connection they belong to. The two lines
  // of a connection are neighbours.
  bool run_once() override {
    wait_for_bytes(std::chrono::milliseconds(1));
    for (std::size_t i = 0; i < lines().size(); ++i) {
      if (ended_.contains(i)) continue;
      const auto bytes = read(lines()[i], 4096);
      if (!bytes) {
        ended_.insert(i);
        std::erase_if(parcels_, [i](const Parcel& parcel) { return parcel.line == (i ^ 1); });
        continue;
      }
      if (*bytes == 0) continue;
      bytes_[i % 2] += *bytes;
      Clock::time_point& free_at = free_at_[i % 2];
      free_at = std::max(free_at, Clock::now()) +
                std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(static_cast<double>(*bytes) / bytes_per_second_));
      parcels_.push_back({i, *bytes, free_at + delay_});
    }
    std::erase_if(parcels_, [&](const Parcel& parcel) {
      if (parcel.due > Clock::now()) return false;
      deliver(lines()[parcel.line], parcel.bytes);
      return true;
    });
    // What a rank sent before it went is on its way, and the other one waits for it.
    return ended_.empty() || !parcels_.empty();
  }

  const std::chrono::milliseconds delay_;
  const double bytes_per_second_;
  std::array<std::atomic<std::size_t>, 2> bytes_ = {};  // by direction
  std::array<Clock::time_point, 2> free_at_ = {};       // the same
  std::vector<Parcel> parcels_;                         // of each line in their order
  std::set<std::size_t> ended_;                         // lines whose sender has gone
};

}  // namespace gradwire
