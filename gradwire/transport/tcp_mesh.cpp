#include "gradwire/transport/tcp_mesh.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr std::size_t kEventsAtOnce = 64;

// epoll_wait() counts in milliseconds.
int wait_for_events(int epoll, std::chrono::microseconds time, std::span<epoll_event> events) {
  constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);
  const auto whole = std::min(std::chrono::floor<std::chrono::milliseconds>(time), kLong);
  if (whole.count() == 0 && time.count() > 0) {
    const timespec wait{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(time).count()};
    pollfd polled{epoll, POLLIN, 0};
    ppoll(&polled, 1, &wait, nullptr);
  }
  return epoll_wait(epoll, events.data(), static_cast<int>(events.size()),
                    static_cast<int>(whole.count()));
}

}  // namespace

TcpMesh::TcpMesh()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wake_) {
    throw StartError(std::string("no epoll descriptor: ") + std::strerror(errno));
  }
  watch(wake_.get(), EPOLLIN, nullptr);
}

void TcpMesh::watch(int descriptor, std::uint32_t events, Watched* watched) {
  epoll_event event{};
  event.events = events | EPOLLET;  // so each change is told once
  event.data.ptr = watched;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return;
  throw StartError(std::string("a connection cannot be watched: ") + std::strerror(errno));
}

void TcpMesh::add(std::unique_ptr<TcpPeer> peer) {
  if (places_.size() <= peer->rank()) places_.resize(peer->rank() + 1);
  Place& place = places_[peer->rank()];
  GW_CHECK(!place.peer);
  place.peer = std::move(peer);
  place.watched.reserve(place.peer->links().size());
  links_ += place.peer->links().size();
  unfinished_.reserve(2 * links_);  // so that poll() does not allocate
  for (TcpLink& link : place.peer->links()) {
    place.watched.push_back({.peer = place.peer.get(), .link = &link, .is_unfinished = true});
    // An encrypted channel may have taken records from the socket together with the hello or the
    // welcome. epoll does not know of them.
    unfinished_.push_back(&place.watched.back());
    watch(link.descriptor(), EPOLLIN | EPOLLOUT | EPOLLRDHUP, &place.watched.back());
  }
}

void TcpMesh::remove(std::size_t rank) {
  Place& place = places_.at(rank);
  std::erase_if(unfinished_,
                [&](const Watched* watched) { return watched->peer == place.peer.get(); });
  if (place.peer) links_ -= place.peer->links().size();
  place = Place();  // a descriptor that is closed leaves epoll by itself
}

TcpPeer& TcpMesh::peer(std::size_t rank) {
  GW_CHECK(rank < places_.size() && places_[rank].peer);
  return *places_[rank].peer;
}

void TcpMesh::poll(std::chrono::microseconds time) {
  epoll_event events[kEventsAtOnce];
  const std::size_t unfinished = unfinished_.size();
  const int count = wait_for_events(epoll_.get(), unfinished == 0 ? time : time.zero(), events);
  for (int i = 0; i < count; ++i) {
    auto* const watched = static_cast<Watched*>(events[i].data.ptr);
    if (watched) {
      advance(*watched, events[i].events);
    } else {
      is_awake_ = true;
    }
  }
  for (std::size_t i = 0; i < unfinished; ++i) {
    unfinished_[i]->is_unfinished = false;
    advance(*unfinished_[i], EPOLLIN);
  }
  unfinished_.erase(unfinished_.begin(),
                    unfinished_.begin() + static_cast<std::ptrdiff_t>(unfinished));
}

// Since the last wait: whatever other calls have moved meanwhile ends this one, too.
void TcpMesh::wait_for_any(std::chrono::microseconds time) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + time;
  for (auto left = time; left.count() >= 0;
       left = std::chrono::floor<std::chrono::microseconds>(end - Clock::now())) {
    const bool is_over = is_awake_ || changes() != changes_seen_;
    poll(is_over ? left.zero() : left);
    if (is_over || is_awake_ || changes() != changes_seen_) break;
  }
  is_awake_ = false;
  changes_seen_ = changes();
}

void TcpMesh::wake() noexcept { eventfd_write(wake_.get(), 1); }

std::uint64_t TcpMesh::changes() const {
  std::uint64_t changes = 0;
  for (const Place& place : places_) {
    if (!place.peer) continue;
    for (const TcpLink& link : place.peer->links()) changes += link.changes();
  }
  return changes;
}

void TcpMesh::advance(Watched& watched, std::uint32_t events) {
  constexpr std::uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((events & kEnd) != 0) watched.link->expect_end();
  if ((events & EPOLLOUT) != 0) watched.link->flush();
  if ((events & (EPOLLIN | kEnd)) == 0) return;
  if (!watched.peer->read(*watched.link) || watched.is_unfinished) return;
  watched.is_unfinished = true;
  unfinished_.push_back(&watched);
}

void TcpMesh::close() noexcept {
  for (const Place& place : places_) {
    if (place.peer) place.peer->close();
  }
}

}  // namespace gradwire
