// Everything between this rank and one peer: the links, and for each lane which messages are
// announced, waiting or on their way. For one thread.
//
// The first link carries presence and announcements, so that neither waits behind gradients. The
// messages of the other lanes are dealt out over the data links in the order of their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "gradwire/transport/tcp_link.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

// One message of this rank.
struct TcpSend {
  std::uint32_t tag = 0;
  std::uint32_t sequence = 0;
  bool is_waiting = false;  // for the receiver's announcement
  TcpSend* next = nullptr;  // among those that wait
  TcpOutgoing out;
  std::vector<std::byte> own = {};  // the message, if its sender was destroyed

  bool is_done() const { return !is_waiting && !out.is_queued; }
};

// One message of the peer.
struct TcpReceive : TcpIncoming {
  std::uint32_t tag = 0;
  std::uint32_t sequence = 0;
  bool is_begun = false;
  bool is_done = false;
  TcpReceive* next = nullptr;  // among those that are announced
  TcpOutgoing ready;
  std::size_t room = 0;             // as announced
  std::vector<std::byte> own = {};  // the message, if its receiver was destroyed
};

class TcpPeer final : private TcpRecords {
 public:
  // The first channel is for presence, all others are for data. All have shaken hands.
  TcpPeer(std::size_t rank, std::string address, std::vector<Channel> channels);
  ~TcpPeer() { close(); }
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;

  std::size_t rank() const { return rank_; }
  const std::string& address() const { return address_; }
  std::span<TcpLink> links() { return links_; }

  // Sends the message when the peer has a receiver for it. The memory and `send` stay where they
  // are until it is done.
  void start(TcpSend& send, Tag tag, const MessageToSend& message);

  // Takes the next message of the tag. If a receiver of the tag was given up, `receive` becomes
  // what that one had announced.
  void start(std::unique_ptr<TcpReceive>& receive, Tag tag, const MessageRoom& memory);

  // The caller's memory is free afterwards. A message is still sent, from a copy; an announced
  // message is kept for the next receiver of its tag.
  void give_up(std::unique_ptr<TcpSend> send);
  void give_up(std::unique_ptr<TcpReceive> receive);

  // Reads what has come by a link. True if there may be more.
  bool read(TcpLink& link);

  // Throws PeerError if messages of this tag cannot travel any more.
  void fail_if_broken(Tag tag) const;

  // Ends all links.
  void close();

 private:
  struct LaneState {
    std::uint32_t next_send = 0;
    std::uint32_t next_receive = 0;
    std::uint32_t announced = 0;  // by the peer: all messages before this number may go
    IntrusiveQueue<TcpSend> waiting;
    IntrusiveQueue<TcpReceive> receives;  // announced and not begun
  };

  TcpIncoming* on_data(const TcpRecord& record, const char*& refusal) override;
  void on_message(TcpIncoming& message) override;
  bool on_ready(const TcpRecord& record) override;

  TcpLink& link_of(std::uint32_t tag, std::uint32_t sequence);
  void send_now(TcpSend& send);
  bool take_over(TcpReceive& old, const MessageRoom& memory);
  [[noreturn]] void fail(const TcpLink& link) const;

  const std::size_t rank_;
  const std::string address_;
  std::vector<TcpLink> links_;
  std::unordered_map<std::uint32_t, LaneState> lanes_;  // by tag
  std::vector<std::unique_ptr<TcpSend>> given_up_sends_;
  std::vector<std::unique_ptr<TcpReceive>> given_up_receives_;  // oldest first
};

}  // namespace gradwire
