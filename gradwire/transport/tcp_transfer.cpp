#include "gradwire/transport/tcp_transfer.h"

#include <algorithm>
#include <utility>

#include "gradwire/transport/check_transfer.h"

namespace gradwire {
namespace {

using Clock = std::chrono::steady_clock;

// What senders and receivers share. Base is the interface, Message what the peer knows of it.
template <class Base, class Message>
class TcpTransfer : public Base {
 public:
  TcpTransfer(TcpMesh& mesh, TcpPeer& peer, Tag tag)
      : mesh_(mesh), peer_(peer), tag_(tag), message_(std::make_unique<Message>()) {}

  ~TcpTransfer() override {
    if (!is_under_way_ || !is_with_peer_ || is_complete(*message_)) return;
    try {
      peer_.give_up(std::move(message_));
    } catch (...) {  // no memory for a copy: the peer gets no half messages
      peer_.close();
    }
  }

  bool done() final { return advance({}); }

  bool wait_for(std::chrono::microseconds time) final {
    const Clock::time_point end = Clock::now() + time;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::microseconds>(end - Clock::now());
      if (advance(std::max(left, std::chrono::microseconds{0}))) return true;
      if (Clock::now() >= end) return false;
    }
  }

 protected:
  // Before a start: throws what is wrong with it.
  void check_start() {
    check_can_start(!done());
    is_under_way_ = true;  // even if it fails: then done() says so
    is_with_peer_ = false;
    peer_.fail_if_broken(tag_);
    is_with_peer_ = true;
  }

  TcpMesh& mesh_;
  TcpPeer& peer_;
  const Tag tag_;
  std::unique_ptr<Message> message_;

 private:
  static bool is_complete(const TcpSend& send) { return send.is_done(); }
  static bool is_complete(const TcpReceive& receive) { return receive.is_done; }

  bool advance(std::chrono::microseconds time) {
    if (!is_under_way_) return true;
    if (!is_with_peer_) peer_.fail_if_broken(tag_);
    if (!is_complete(*message_)) {
      mesh_.poll(time);
      if (!is_complete(*message_)) {
        peer_.fail_if_broken(tag_);
        return false;
      }
    }
    is_under_way_ = false;
    return true;
  }

  bool is_under_way_ = false;
  bool is_with_peer_ = false;  // the peer was not lost when it was started
};

class TcpSender final : public TcpTransfer<Sender, TcpSend> {
 public:
  TcpSender(TcpMesh& mesh, TcpPeer& peer, Tag tag, std::span<const std::byte> memory)
      : TcpTransfer(mesh, peer, tag), memory_(memory) {}

  void start(std::size_t bytes, MessageToSend::Parts parts) override {
    check_message_bytes(bytes, memory_.size());
    check_start();
    peer_.start(*message_, tag_, {memory_.first(bytes), parts});
  }

 private:
  const std::span<const std::byte> memory_;
};

class TcpReceiver final : public TcpTransfer<Receiver, TcpReceive> {
 public:
  TcpReceiver(TcpMesh& mesh, TcpPeer& peer, Tag tag, std::span<std::byte> memory)
      : TcpTransfer(mesh, peer, tag), memory_(memory) {}

  void start(MessageRoom::Parts parts) override {
    check_start();
    peer_.start(message_, tag_, {memory_, parts});
  }

 private:
  const std::span<std::byte> memory_;
};

}  // namespace

std::unique_ptr<Sender> make_tcp_sender(TcpMesh& mesh, TcpPeer& peer, Tag tag,
                                        std::span<const std::byte> memory) {
  return std::make_unique<TcpSender>(mesh, peer, tag, memory);
}

std::unique_ptr<Receiver> make_tcp_receiver(TcpMesh& mesh, TcpPeer& peer, Tag tag,
                                            std::span<std::byte> memory) {
  return std::make_unique<TcpReceiver>(mesh, peer, tag, memory);
}

}  // namespace gradwire
