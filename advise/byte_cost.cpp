#include "advise/byte_cost.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/page_array.h"
#include "bench/statistics.h"
#include "gradwire/core/error.h"
#include "gradwire/kernel/floats.h"
#include "gradwire/wire/frame.h"

namespace gradwire::advise {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kBlocks = 64;
constexpr std::size_t kRounds = 3;

// A descriptor that is closed when it goes.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) fail();
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int get() const { return descriptor_; }

  [[noreturn]] static void fail() {
    throw Error("cannot make a TCP connection on the loopback: " +
                std::system_category().message(errno));
  }

 private:
  int descriptor_;
};

void check(int result) {
  if (result < 0) Socket::fail();
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Both ends of a connection.
struct Connection {
  Connection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    check(bind(listener.get(), any, length));
    check(listen(listener.get(), 1));
    check(getsockname(listener.get(), any, &length));
    check(connect(sender.get(), any, length));
    receiver.emplace(accept(listener.get(), nullptr, nullptr));
  }

  Socket sender{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::optional<Socket> receiver;
};

// Returns the seconds of processor time.
double send_blocks(int descriptor, std::span<const std::byte> block) {
  const double start = thread_seconds();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::span<const std::byte> rest = block; !rest.empty();) {
      const ssize_t sent = send(descriptor, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return -1;
      rest = rest.subspan(static_cast<std::size_t>(sent));
    }
  }
  return thread_seconds() - start;
}

double receive_blocks(int descriptor, std::span<std::byte> block) {
  const double start = thread_seconds();
  for (std::size_t left = kBlocks * block.size(); left > 0;) {
    const ssize_t got = recv(descriptor, block.data(), block.size(), 0);
    if (got <= 0) return -1;
    left -= static_cast<std::size_t>(got);
  }
  return thread_seconds() - start;
}

}  // namespace

double socket_byte_seconds() {
  const Connection connection;
  bench::PageArray<std::byte> out(kBlockBytes);
  bench::PageArray<std::byte> in(kBlockBytes);
  std::vector<double> rounds;
  for (std::size_t round = 0; round < kRounds; ++round) {
    double sending = 0;
    double receiving = 0;
    {
      const std::jthread sender(
          [&] { sending = send_blocks(connection.sender.get(), out.span()); });
      receiving = receive_blocks(connection.receiver->get(), in.span());
    }
    if (sending < 0 || receiving < 0) Socket::fail();
    rounds.push_back((sending + receiving) / static_cast<double>(kBlocks * kBlockBytes));
  }
  return bench::median(std::move(rounds));
}

double checksum_byte_seconds() {
  constexpr std::size_t kBytes = std::size_t{1} << 23;
  const bench::PageArray<std::byte> bytes(kBytes);
  std::vector<double> rounds;
  volatile std::uint64_t sum = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const double start = thread_seconds();
    sum = checksum(bytes.span());
    rounds.push_back((thread_seconds() - start) / static_cast<double>(kBytes));
  }
  static_cast<void>(sum);
  return bench::median(std::move(rounds));
}

double sum_byte_seconds() {
  constexpr std::size_t kElements = std::size_t{1} << 22;
  const bench::PageArray<float> source(kElements);
  bench::PageArray<float> target(kElements);
  std::vector<double> rounds;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const double start = thread_seconds();
    kernel::add_scaled(target.span(), source.span(), 1, 1, target.span());
    rounds.push_back((thread_seconds() - start) / static_cast<double>(kElements * sizeof(float)));
  }
  return bench::median(std::move(rounds));
}

}  // namespace gradwire::advise
