#include "watch/bounded_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace gradwire::watch {
namespace {

using Clock = std::chrono::steady_clock;

class BoundedStream : public httplib::Stream {
 public:
  explicit BoundedStream(int socket) : socket_(socket) {}

  bool is_readable() const override { return begin_ < end_ || wait(POLLIN, kRequestMsMax); }
  bool is_writable() const override { return wait(POLLOUT, kAnswerMsMax); }

  ssize_t read(char* to, std::size_t size) override {
    if (begin_ == end_) {
      const ssize_t count = fill();
      if (count <= 0) return count;
    }
    const std::size_t count = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, count, to);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }

  // All of it, or -1: some callers do not ask how much has gone.
  ssize_t write(const char* from, std::size_t size) override {
    std::size_t sent = 0;
    while (sent < size) {
      if (!is_writable()) return -1;
      const ssize_t count = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) {
        sent += static_cast<std::size_t>(count);
      } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        return -1;
      }
    }
    return static_cast<ssize_t>(size);
  }

  // Nobody asks for addresses.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  ssize_t fill() {
    if (bytes_read_ >= kRequestBytesMax || !wait(POLLIN, kRequestMsMax)) return -1;
    const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count <= 0) return count;
    bytes_read_ += static_cast<std::size_t>(count);
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
    return count;
  }

  // Whether the socket is ready within so many milliseconds after the connection began.
  bool wait(short event, int ms_max) const {
    pollfd poll{.fd = socket_, .events = event, .revents = 0};
    for (;;) {
      const auto passed =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_).count();
      if (passed >= ms_max) return false;
      const int count = ::poll(&poll, 1, ms_max - static_cast<int>(passed));
      if (count > 0) return true;
      if (count < 0 && errno != EINTR) return false;
    }
  }

  const int socket_;
  const Clock::time_point began_ = Clock::now();
  std::size_t bytes_read_ = 0;
  std::array<char, 4096> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// The library does not compare ranges with the length of what it sends.
void forget_ranges(httplib::Request& request) {
  request.ranges.clear();
  request.headers.erase("Range");
}

}  // namespace

bool BoundedServer::process_and_close_socket(socket_t socket) {
  BoundedStream stream(socket);
  bool is_closed = false;
  const bool is_answered = process_request(stream, true, is_closed, forget_ranges);
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return is_answered;
}

}  // namespace gradwire::watch
