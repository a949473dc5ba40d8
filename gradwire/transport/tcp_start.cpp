#include "gradwire/transport/tcp_start.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include "gradwire/transport/tcp_connect.h"
#include "gradwire/transport/tls_reason.h"
#include "gradwire/transport/transport.h"

namespace gradwire {
namespace {

using Clock = StartStore::Clock;

std::string port_key(std::size_t rank) { return "port/" + std::to_string(rank); }

// Rank 0 makes the key of the group, and the others read it.
GroupKey share_key(std::size_t rank, StartStore& store) {
  constexpr const char* kName = "key";
  GroupKey key;
  if (rank == 0) {
    if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
      throw StartError(std::string("no random numbers: ") + std::strerror(errno));
    }
    const auto* bytes = reinterpret_cast<const char*>(key.data());
    store.set(kName, {bytes, bytes + key.size()});
    return key;
  }
  const std::vector<char> bytes = store.get(kName);
  if (bytes.size() != key.size()) throw StartError("rank 0 has written a key of another length");
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

std::uint16_t port_in(const std::vector<char>& text, std::size_t rank) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, port);
  if (result.ec != std::errc() || result.ptr != end) {
    throw StartError("rank " + std::to_string(rank) + " has written a port that is not a number");
  }
  return port;
}

enum class Greeting { welcome, closed, hopeless };

// Sends the hello and waits for the welcome.
Greeting greet(Channel& channel, const TcpHello& hello, Clock::time_point until,
               std::string& reason) {
  std::byte answer{};
  const bool is_answered = finish_handshake(channel, until) &&
                           write_all(channel, hello.write(), until) &&
                           read_all(channel, {&answer, 1}, until);
  if (is_answered && answer == kTcpWelcome) return Greeting::welcome;
  if (!channel.reason().empty()) reason = channel.reason();
  const bool is_tls = is_answered && looks_like_tls({&answer, 1});
  if (is_tls) reason = kPeerIsEncrypted;
  return is_tls || channel.does_not_fit() ? Greeting::hopeless : Greeting::closed;
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Tries again when it is closed: the peer may have dropped it among many strangers.
Channel connect_link(const TcpHello& hello, const std::string& address, std::uint16_t port,
                     const StartStore& store, const std::shared_ptr<const TlsContext>& security) {
  const std::string what = "rank " + std::to_string(hello.rank) + " cannot connect to rank " +
                           std::to_string(hello.peer) + " at " + address + ":" +
                           std::to_string(port);
  constexpr std::chrono::milliseconds kPause{20};
  std::string reason = "it answers nothing";
  while (Clock::now() < store.deadline()) {
    Descriptor socket = try_connect(address, port, store.deadline(), reason);
    if (socket) {
      send_at_once(socket.get());
      Channel channel(std::move(socket), Channel::Role::connects, security);
      const Greeting greeting = greet(channel, hello, store.deadline(), reason);
      if (greeting == Greeting::welcome) return channel;
      if (greeting == Greeting::hopeless) throw StartError(what + ": " + reason);
    }
    std::this_thread::sleep_for(kPause);
  }
  throw StartError(what + " within " + in_words(store.time_max()) + ": " + reason);
}

// The connections of all ranks behind this one.
class Accepting {
 public:
  Accepting(std::size_t rank, std::vector<TcpChannels>& all, std::size_t links)
      : rank_(rank), all_(all), links_(links), missing_((all.size() - rank - 1) * links) {
    for (std::size_t peer = rank + 1; peer < all.size(); ++peer) all[peer].links.resize(links);
  }

  bool is_complete() const { return missing_ == 0; }

  void take(TcpListener::Guest& guest) {
    const TcpHello& hello = guest.hello;
    if (hello.peer != rank_ || hello.links != links_ || hello.link >= links_ ||
        hello.rank <= rank_ || hello.rank >= all_.size()) {
      return;
    }
    send_at_once(guest.channel.descriptor());
    // A new connection has room for one byte.
    if (!write_all(guest.channel, {&kTcpWelcome, 1}, {})) return;
    Channel& place = all_[hello.rank].links[hello.link];
    if (!place) --missing_;
    place = std::move(guest.channel);  // a later one replaces one that was closed
  }

  // "rank 2 has not connected to rank 1".
  std::string missing_rank() const {
    for (std::size_t peer = rank_ + 1; peer < all_.size(); ++peer) {
      for (const Channel& link : all_[peer].links) {
        if (link) continue;
        return "rank " + std::to_string(peer) + " has not connected to rank " +
               std::to_string(rank_);
      }
    }
    return "";
  }

 private:
  const std::size_t rank_;
  std::vector<TcpChannels>& all_;
  const std::size_t links_;
  std::size_t missing_;
};

}  // namespace

std::vector<TcpChannels> connect_ranks(std::size_t rank, const std::vector<RankInfo>& infos,
                                       std::size_t links, TcpListener& listener, StartStore& store,
                                       const std::shared_ptr<const TlsContext>& security) {
  const GroupKey key = share_key(rank, store);
  const std::string port = std::to_string(listener.port());
  store.set(port_key(rank), {port.begin(), port.end()});
  std::vector<TcpChannels> all(infos.size());
  for (std::size_t peer = 0; peer < infos.size(); ++peer) {
    all[peer].port = port_in(store.get(port_key(peer)), peer);
  }
  for (std::size_t peer = 0; peer < rank; ++peer) {
    for (std::size_t link = 0; link < links; ++link) {
      const TcpHello hello{.key = key,
                           .rank = static_cast<std::uint32_t>(rank),
                           .peer = static_cast<std::uint32_t>(peer),
                           .link = static_cast<std::uint16_t>(link),
                           .links = static_cast<std::uint16_t>(links)};
      all[peer].links.push_back(
          connect_link(hello, infos[peer].address, all[peer].port, store, security));
    }
  }
  Accepting accepting(rank, all, links);
  while (!accepting.is_complete()) {
    if (Clock::now() >= store.deadline()) {
      throw StartError(accepting.missing_rank() + " within " + in_words(store.time_max()) +
                       listener.refusals().in_words());
    }
    for (auto& guest : listener.accept(key, store.deadline())) accepting.take(guest);
  }
  return all;
}

}  // namespace gradwire
