#include "gradwire/transport/tcp_store_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <list>
#include <string>
#include <system_error>
#include <vector>

#include "gradwire/transport/host_addresses.h"
#include "gradwire/transport/tcp_store_session.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSessionsMax = 4096;
constexpr std::ptrdiff_t kStrangersMax = 256;  // sessions that have not begun as they should

// The thread's work, until `stop` is readable.
class Service {
 public:
  using Refuse = std::function<void(const std::string& reason)>;

  Service(int listener, int stop, std::shared_ptr<const TlsContext> security, std::uint64_t run_key,
          Refuse refuse)
      : listener_(listener),
        stop_(stop),
        security_(std::move(security)),
        run_key_(run_key),
        refuse_(std::move(refuse)) {}

  void run() {
    for (;;) {
      wait();
      if (polled_[0].revents != 0) return refuse_all();
      serve_sessions();
      if (polled_[1].revents != 0) admit();
    }
  }

 private:
  void wait() {
    auto until = accept_from_ > Clock::now() ? accept_from_ : Clock::time_point::max();
    polled_.clear();
    polled_.push_back({stop_, POLLIN, 0});
    polled_.push_back({accept_from_ > Clock::now() ? -1 : listener_, POLLIN, 0});
    for (const TcpStoreSession& session : sessions_) {
      polled_.push_back({session.descriptor(), session.events(), 0});
      until = std::min(until, session.deadline());
    }
    if (poll(polled_.data(), polled_.size(), milliseconds_until(until)) < 0) {
      for (pollfd& one : polled_) one.revents = 0;  // interrupted
    }
  }

  static int milliseconds_until(Clock::time_point time) {
    constexpr std::chrono::hours kLong{1};
    const auto left = std::clamp<Clock::duration>(time - Clock::now(), {}, kLong);
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

  // A key that one session brings may be what others wait for, so all are looked at until no new
  // key comes.
  void serve_sessions() {
    std::size_t index = 2;
    std::size_t keys_before = keys_.size();
    for (auto session = sessions_.begin(); session != sessions_.end(); ++index) {
      const bool keep = session->advance(polled_[index].revents, keys_);
      if (!keep && !session->is_greeted()) refuse_(session->refusal());
      session = keep ? std::next(session) : sessions_.erase(session);
    }
    while (keys_.size() != keys_before) {
      keys_before = keys_.size();
      std::erase_if(sessions_,
                    [&](TcpStoreSession& session) { return !session.advance(0, keys_); });
    }
  }

  void refuse_all() {
    for (const TcpStoreSession& session : sessions_) {
      if (!session.is_greeted()) refuse_(session.refusal());
    }
  }

  // The oldest stranger goes when there are too many.
  void make_room() {
    const auto is_stranger = [](const TcpStoreSession& session) { return !session.is_greeted(); };
    if (std::ranges::count_if(sessions_, is_stranger) < kStrangersMax) return;
    const auto oldest = std::ranges::find_if(sessions_, is_stranger);
    refuse_(oldest->refusal());
    sessions_.erase(oldest);
  }

  void admit() {
    make_room();
    Descriptor socket(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket && sessions_.size() < kSessionsMax) {
      sessions_.emplace_back(Channel(std::move(socket), Channel::Role::accepts, security_),
                             run_key_);
    } else if (socket) {
      refuse_("");
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      // No descriptors left, perhaps: asking again at once would only burn time.
      constexpr std::chrono::milliseconds kPause{100};
      accept_from_ = Clock::now() + kPause;
    }
  }

  const int listener_;
  const int stop_;
  const std::shared_ptr<const TlsContext> security_;
  const std::uint64_t run_key_;
  const Refuse refuse_;
  StoreKeys keys_;
  std::list<TcpStoreSession> sessions_;
  std::vector<pollfd> polled_;
  Clock::time_point accept_from_{};
};

[[noreturn]] void fail_to_listen(std::uint16_t port, int error) {
  const std::string where = "port " + std::to_string(port) + " on this host ";
  if (error == EADDRINUSE) throw StartError(where + "is in use: choose another MASTER_PORT");
  if (error == EACCES) {
    throw StartError(where + "is not for this user: choose a MASTER_PORT above 1023");
  }
  throw StartError(where + "cannot be listened on: " + std::strerror(error));
}

int bind_and_listen(int socket, const sockaddr* address, socklen_t bytes) {
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket, address, bytes) != 0 || listen(socket, SOMAXCONN) != 0) return errno;
  return 0;
}

constexpr int kSocketKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

// Nothing if this host does not have the address.
Descriptor listen_on_address(const std::string& address, std::uint16_t port) {
  std::string reason;
  const HostAddresses found = find_addresses(address, port, SOCK_STREAM, reason);
  if (!found) return {};
  Descriptor socket(::socket(found->ai_family, kSocketKind, 0));
  if (!socket) return {};
  const int error = bind_and_listen(socket.get(), found->ai_addr, found->ai_addrlen);
  if (error == EADDRNOTAVAIL) return {};
  if (error != 0) fail_to_listen(port, error);
  return socket;
}

// IPv4 and IPv6 by one socket where the host has IPv6.
Descriptor listen_on_all(std::uint16_t port) {
  if (Descriptor socket(::socket(AF_INET6, kSocketKind, 0)); socket) {
    const int off = 0;
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    const int error =
        bind_and_listen(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    if (error == 0) return socket;
    if (error != EADDRNOTAVAIL) fail_to_listen(port, error);
  }
  Descriptor socket(::socket(AF_INET, kSocketKind, 0));
  if (!socket) fail_to_listen(port, errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const int error =
      bind_and_listen(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  if (error != 0) fail_to_listen(port, error);
  return socket;
}

Descriptor listen_on(const std::string& address, std::uint16_t port) {
  if (!address.empty()) {
    if (Descriptor socket = listen_on_address(address, port)) return socket;
  }
  return listen_on_all(port);
}

// A thread that no signal handler of the program runs on.
template <class Work>
std::thread start_quiet_thread(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(work);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw StartError(std::string("the rendezvous cannot start its thread: ") + error.what());
  }
}

}  // namespace

TcpStoreServer::TcpStoreServer(std::uint16_t port, std::shared_ptr<const TlsContext> security,
                               std::uint64_t run_key, const std::string& address,
                               OnRefusal on_refusal)
    : listener_(listen_on(address, port)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      port_(port_of(listener_.get())) {
  if (!stop_) throw StartError(std::string("no event descriptor: ") + std::strerror(errno));
  const auto refuse = [this, on_refusal](const std::string& reason) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = refusals_.add(reason);
    }
    if (is_first && on_refusal) on_refusal(reason);
  };
  thread_ = start_quiet_thread([this, security, run_key, refuse] {
    Service(listener_.get(), stop_.get(), security, run_key, refuse).run();
  });
}

Refusals TcpStoreServer::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

TcpStoreServer::~TcpStoreServer() { close(); }

void TcpStoreServer::close() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

}  // namespace gradwire
