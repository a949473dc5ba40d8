#include "gradwire/transport/tcp_listener.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gradwire/transport/host_addresses.h"
#include "gradwire/transport/tls_reason.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

using Clock = TcpListener::Clock;

constexpr std::size_t kWaitingMax = 256;
constexpr std::chrono::seconds kHelloTimeMax{5};

Descriptor listen_on(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;  // a port that was in use a moment ago
  if (socket) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (!socket || bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    return {};
  }
  return socket;
}

}  // namespace

TcpListener::TcpListener(const std::string& address, std::shared_ptr<const TlsContext> security,
                         std::uint16_t port, OnRefusal on_refusal)
    : security_(std::move(security)), on_refusal_(std::move(on_refusal)) {
  std::string reason;
  const HostAddresses found = find_addresses(address, port, SOCK_STREAM, reason);
  if (found) {
    socket_ = listen_on(*found);
    reason = std::strerror(errno);
  }
  if (!socket_) {
    throw StartError((port == 0 ? "no port" : "port " + std::to_string(port)) + " of " + address +
                     " can be listened on: " + reason);
  }
  port_ = port_of(socket_.get());
}

std::vector<TcpListener::Guest> TcpListener::accept(const GroupKey& key, Clock::time_point until) {
  std::vector<Guest> guests;
  while (guests.empty() && Clock::now() < until) {
    wait(until);
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
      const Channel::State state = read(*waiting);
      if (state == Channel::State::blocked && Clock::now() < waiting->until) {
        ++waiting;
        continue;
      }
      const auto hello = state == Channel::State::ready ? TcpHello::read(waiting->bytes, key)
                                                        : std::optional<TcpHello>();
      if (hello) {
        guests.push_back({*hello, std::move(waiting->channel)});
      } else {
        refuse(*waiting);
      }
      waiting = waiting_.erase(waiting);
    }
    admit();
  }
  return guests;
}

void TcpListener::close() {
  admit();
  for (Waiting& waiting : waiting_) refuse(waiting);
  waiting_.clear();
  socket_ = Descriptor();
}

void TcpListener::wait(Clock::time_point until) const {
  std::vector<pollfd> polled = {{socket_.get(), POLLIN, 0}};
  for (const Waiting& waiting : waiting_) {
    polled.push_back({waiting.channel.descriptor(), waiting.channel.events(), 0});
    until = std::min(until, waiting.until);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(left.count(), 0)));
}

void TcpListener::admit() {
  for (;;) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool is_full = !socket && (errno == EMFILE || errno == ENFILE);
    if (!waiting_.empty() && (is_full || waiting_.size() == kWaitingMax)) {
      waiting_.pop_front();  // the oldest, which a descriptor becomes free by
      refusals_.add("");
    }
    if (!socket) return;
    waiting_.push_back({.channel = Channel(std::move(socket), Channel::Role::accepts, security_),
                        .until = Clock::now() + kHelloTimeMax});
  }
}

// A rank with a secret learns that this one has none.
void TcpListener::refuse(Waiting& waiting) {
  const bool is_encrypted = refuse_tls(waiting.channel, {waiting.bytes.data(), waiting.count});
  const bool is_first = refusals_.add(is_encrypted ? kPeerIsEncrypted : waiting.channel.reason());
  if (is_first && on_refusal_) on_refusal_(refusals_.reason);
}

// Ready: all bytes of a hello are there.
Channel::State TcpListener::read(Waiting& waiting) {
  const Channel::State state = waiting.channel.handshake();
  if (state != Channel::State::ready) return state;
  const iovec rest{waiting.bytes.data() + waiting.count, waiting.bytes.size() - waiting.count};
  const Channel::Progress progress = waiting.channel.read({&rest, 1});
  waiting.count += progress.bytes;
  return waiting.count == waiting.bytes.size() ? Channel::State::ready : progress.state;
}

}  // namespace gradwire
