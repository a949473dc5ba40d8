// For tests: ranks over TCP as threads of one process, and short ways to send and receive.
#pragma once

#include <unistd.h>

#include <barrier>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gradwire/core/check.h"
#include "gradwire/transport/tcp.h"
#include "gtest/gtest.h"

namespace gradwire {

using Bytes = std::vector<std::byte>;

inline constexpr std::chrono::seconds kPatience{10};
inline constexpr Tag kUp{Lane::up, 0};
inline constexpr Tag kDown{Lane::down, 0};
inline constexpr Tag kPresence{Lane::presence, 0};

// A new directory that is gone afterwards.
class RendezvousDirectory {
 public:
  RendezvousDirectory() {
    std::string path = std::filesystem::temp_directory_path() / "gradwire-tcp-XXXXXX";
    GW_CHECK(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~RendezvousDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RendezvousDirectory(const RendezvousDirectory&) = delete;
  RendezvousDirectory& operator=(const RendezvousDirectory&) = delete;

  MeetingOptions options(std::size_t rank, std::size_t size) const {
    MeetingOptions options;
    options.rank = rank;
    options.size = size;
    options.directory = path_;
    options.start_time_max = kPatience;
    return options;
  }

 private:
  std::filesystem::path path_;
};

using TcpOptionsOf = std::function<MeetingOptions(std::size_t rank)>;
using RankBody = std::function<void(Transport&)>;

// Every rank is a thread; none ends its transport before all have run the body.
inline void run_tcp_ranks(std::size_t size, const TcpOptionsOf& options, const RankBody& body) {
  std::barrier all_done(static_cast<std::ptrdiff_t>(size));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      std::unique_ptr<Transport> transport;
      try {
        transport = make_tcp_transport({.meeting = options(rank)});
        body(*transport);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      all_done.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline void run_tcp_ranks(std::size_t size, const RankBody& body) {
  const RendezvousDirectory rendezvous;
  run_tcp_ranks(
      size, [&](std::size_t rank) { return rendezvous.options(rank, size); }, body);
}

// Rank 0 does one thing, rank 1 another.
inline void run_two_tcp_ranks(const RankBody& zero, const RankBody& one) {
  run_tcp_ranks(2, [&](Transport& transport) { (transport.rank() == 0 ? zero : one)(transport); });
}

inline Bytes to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(const Bytes& bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes.data()), count};
}

inline void expect_done(Transfer& transfer) { EXPECT_TRUE(transfer.wait_for(kPatience)); }

inline void send_text(Transport& transport, std::size_t peer, Tag tag, std::string_view text) {
  const Bytes memory = to_bytes(text);
  const auto sender = transport.sender(peer, tag, memory);
  sender->start(memory.size());
  expect_done(*sender);
}

inline std::string receive_text(Transport& transport, std::size_t peer, Tag tag,
                                std::size_t count) {
  Bytes memory(count);
  const auto receiver = transport.receiver(peer, tag, memory);
  receiver->start();
  expect_done(*receiver);
  return text_of(memory, count);
}

}  // namespace gradwire
