#include "gradwire/elastic/hub.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "gradwire/core/bytes.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tls_reason.h"
#include "gradwire/transport/transport.h"

namespace gradwire::elastic {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kConnectTimeMax{2000};
constexpr std::chrono::milliseconds kAcceptSlice{100};

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

HostPort parse_host_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  HostPort result;
  const bool has_host = colon != std::string::npos && colon > 0;
  const char* const end = text.data() + text.size();
  const auto port = std::from_chars(has_host ? text.data() + colon + 1 : end, end, result.port);
  if (port.ec != std::errc() || port.ptr != end) {
    throw UsageError("'" + text + "' is not an address: give host:port, such as 10.0.0.2:29400");
  }
  result.host = text.substr(0, colon);
  if (result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  }
  return result;
}

GroupKey key_of_run(std::uint64_t run_key) {
  GroupKey key{};
  constexpr char kName[8] = {'e', 'l', 'a', 's', 't', 'i', 'c', '\1'};
  std::memcpy(key.data(), kName, sizeof(kName));
  store_le(std::span<std::byte>(key), sizeof(kName), run_key);
  return key;
}

std::optional<Channel> open_channel(const std::string& address, const GroupKey& key,
                                    const std::shared_ptr<const TlsContext>& security,
                                    std::chrono::milliseconds time_max, std::string& reason) {
  const Clock::time_point until = Clock::now() + time_max;
  const HostPort target = parse_host_port(address);
  Descriptor socket = try_connect(target.host, target.port, until, reason);
  if (!socket) {
    reason = address + ": " + reason;
    return std::nullopt;
  }
  send_at_once(socket.get());
  Channel channel(std::move(socket), Channel::Role::connects, security);
  std::byte answer{};
  const TcpHello hello{.key = key, .rank = 0, .peer = 0, .link = 0, .links = 1};
  const bool is_answered = finish_handshake(channel, until) &&
                           write_all(channel, hello.write(), until) &&
                           read_all(channel, {&answer, 1}, until);
  if (is_answered && answer == kTcpWelcome) return channel;
  const bool is_tls = is_answered && looks_like_tls({&answer, 1});
  reason = address + ": " +
           (is_tls                     ? kPeerIsEncrypted
            : channel.reason().empty() ? "it does not answer as a member of this run"
                                       : channel.reason());
  return std::nullopt;
}

Hub::Hub(const std::string& listen, std::uint64_t run_key,
         std::shared_ptr<const TlsContext> security)
    : key_(key_of_run(run_key)),
      security_(std::move(security)),
      listener_(parse_host_port(listen).host, security_, parse_host_port(listen).port),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!wake_) throw StartError(std::string("no event descriptor: ") + std::strerror(errno));
  acceptor_ = std::thread([this] { accept(); });
}

Hub::~Hub() {
  is_over_ = true;
  acceptor_.join();
  for (Attempt& attempt : attempts_) attempt.thread.join();
}

void Hub::add(Channel channel, Channel::Role role) {
  {
    const std::lock_guard lock(mutex_);
    new_.push_back(std::make_unique<Connection>(std::move(channel), role));
  }
  wake();
}

void Hub::accept() {
  while (!is_over_) {
    for (TcpListener::Guest& guest : listener_.accept(key_, Clock::now() + kAcceptSlice)) {
      send_at_once(guest.channel.descriptor());
      // A new connection has room for one byte.
      if (!write_all(guest.channel, {&kTcpWelcome, 1}, {})) continue;
      add(std::move(guest.channel), Channel::Role::accepts);
    }
  }
}

void Hub::connect(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::erase_if(attempts_, [](Attempt& attempt) {
    if (attempt.is_done) attempt.thread.join();
    return attempt.is_done;
  });
  if (std::ranges::find(attempts_, address, &Attempt::address) != attempts_.end()) return;
  Attempt& attempt = attempts_.emplace_back(Attempt{.address = address, .thread = {}});
  attempt.thread = std::thread([this, &attempt] {
    std::string reason;
    std::optional<Channel> channel;
    try {
      channel = open_channel(attempt.address, key_, security_, kConnectTimeMax, reason);
    } catch (const Error& error) {
      reason = error.what();
    }
    if (channel && !is_over_) add(std::move(*channel), Channel::Role::connects);
    const std::lock_guard guard(mutex_);
    if (!channel) last_failure_ = reason;
    attempt.is_done = true;
  });
}

std::vector<std::unique_ptr<Connection>> Hub::take_new() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_, {});
}

std::string Hub::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

void Hub::wait(const std::vector<Connection*>& connections, std::chrono::milliseconds time) {
  std::vector<pollfd> polled = {{wake_.get(), POLLIN, 0}};
  for (const Connection* connection : connections) {
    polled.push_back({connection->descriptor(), connection->events(), 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(time.count()));
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t bytes = read(wake_.get(), &count, sizeof(count));
}

void Hub::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = write(wake_.get(), &one, sizeof(one));
}

}  // namespace gradwire::elastic
