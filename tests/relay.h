// For tests: a relay between sockets, as a link that is far away. It holds all bytes until nothing
// more comes for a while, and then delivers them in both directions at once: one trip. So a test
// can count trips, whatever the speed of the machine.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
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
    lines_.push_back({.ends = {std::move(near_inside), std::move(far_inside)}, .held = {}});
    return {std::move(near), std::move(far)};
  }

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // How many times bytes were delivered.
  int trips() const { return trips_; }

 private:
  // Longer than a rank takes to answer on a busy machine.
  static constexpr int kQuietMs = 150;

  struct Line {
    std::array<Descriptor, 2> ends;
    std::array<std::vector<char>, 2> held;  // from each end
  };

  static std::pair<Descriptor, Descriptor> make_pair() {
    int sockets[2];
    GW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
    return {Descriptor(sockets[0]), Descriptor(sockets[1])};
  }

  void run() {
    while (!is_over_) {
      std::vector<pollfd> polled;
      for (const Line& line : lines_) {
        for (const Descriptor& end : line.ends) polled.push_back({end.get(), POLLIN, 0});
      }
      if (poll(polled.data(), polled.size(), kQuietMs) > 0) {
        if (!read_all()) return;
      } else {
        deliver();
      }
    }
  }

  // False: a rank has gone.
  bool read_all() {
    for (Line& line : lines_) {
      for (std::size_t end = 0; end < 2; ++end) {
        char bytes[65536];
        const ssize_t count = recv(line.ends[end].get(), bytes, sizeof(bytes), MSG_DONTWAIT);
        if (count == 0) return false;
        if (count > 0) line.held[end].insert(line.held[end].end(), bytes, bytes + count);
      }
    }
    return true;
  }

  void deliver() {
    bool has_delivered = false;
    for (Line& line : lines_) {
      for (std::size_t end = 0; end < 2; ++end) {
        std::vector<char>& held = line.held[end];
        if (held.empty()) continue;
        const ssize_t sent =
            send(line.ends[1 - end].get(), held.data(), held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        GW_CHECK(sent == static_cast<ssize_t>(held.size()));  // tests send little
        held.clear();
        has_delivered = true;
      }
    }
    if (has_delivered) ++trips_;
  }

  std::vector<Line> lines_;
  std::atomic<int> trips_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace gradwire
