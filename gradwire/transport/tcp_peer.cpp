#include "gradwire/transport/tcp_peer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

constexpr std::size_t kControl = 0;    // the link for presence and announcements
constexpr std::size_t kFirstData = 1;  // and the links for all else

// More than any program uses: a peer that announces messages of ever new lanes is stopped.
constexpr std::size_t kLanesMax = 1 << 16;

// Numbers wrap around, so they are compared by their distance.
bool is_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

}  // namespace

TcpPeer::TcpPeer(std::size_t rank, std::string address, std::vector<Channel> channels)
    : rank_(rank), address_(std::move(address)) {
  GW_CHECK(channels.size() > kFirstData);
  links_.reserve(channels.size());
  for (Channel& channel : channels) links_.emplace_back(std::move(channel));
}

TcpLink& TcpPeer::link_of(std::uint32_t tag, std::uint32_t sequence) {
  if (Tag::lane_of(tag) == Lane::presence) return links_[kControl];
  return links_[kFirstData + sequence % (links_.size() - kFirstData)];
}

// --- Sending ---

void TcpPeer::start(TcpSend& send, Tag tag, const MessageToSend& message) {
  std::erase_if(given_up_sends_, [](const auto& old) { return old->is_done(); });
  send.tag = tag.number();
  LaneState& lane = lanes_[send.tag];
  send.sequence = lane.next_send++;
  send.out.payload = message;
  TcpRecord{.kind = TcpRecord::Kind::data,
            .tag = send.tag,
            .sequence = send.sequence,
            .bytes = message.bytes()}
      .write(send.out.header);
  if (is_before(send.sequence, lane.announced)) {
    send_now(send);
  } else {
    send.is_waiting = true;
    lane.waiting.push(send);
  }
}

void TcpPeer::send_now(TcpSend& send) {
  send.is_waiting = false;
  TcpLink& link = link_of(send.tag, send.sequence);
  link.queue(send.out);
  link.flush();
}

bool TcpPeer::on_ready(const TcpRecord& record) {
  if (lanes_.size() >= kLanesMax && !lanes_.contains(record.tag)) return false;
  LaneState& lane = lanes_[record.tag];
  if (record.sequence != lane.announced) return false;
  ++lane.announced;
  TcpSend* const send = lane.waiting.front();
  if (send && send->sequence == record.sequence) {
    lane.waiting.pop();
    send_now(*send);
  }
  return true;
}

void TcpPeer::give_up(std::unique_ptr<TcpSend> send) {
  send->own.resize(send->out.payload.bytes());
  send->out.payload.copy_out(send->own);
  send->out.payload = std::span<const std::byte>(send->own);
  given_up_sends_.push_back(std::move(send));
}

// --- Receiving ---

void TcpPeer::start(std::unique_ptr<TcpReceive>& receive, Tag tag, const MessageRoom& memory) {
  const std::uint32_t number = tag.number();
  const auto old = std::ranges::find(given_up_receives_, number,
                                     [](const auto& given_up) { return given_up->tag; });
  if (old != given_up_receives_.end()) {
    if (!take_over(**old, memory))
      links_[kControl].close("its message is longer than the receiver");
    receive = std::move(*old);
    given_up_receives_.erase(old);
    return;
  }
  LaneState& lane = lanes_[number];
  receive->tag = number;
  receive->sequence = lane.next_receive++;
  receive->memory = memory;
  receive->room = memory.bytes();
  receive->is_begun = receive->is_done = false;
  lane.receives.push(*receive);
  TcpRecord{.kind = TcpRecord::Kind::ready,
            .tag = number,
            .sequence = receive->sequence,
            .bytes = memory.bytes()}
      .write(receive->ready.header);
  links_[kControl].queue(receive->ready);
  links_[kControl].flush();
}

TcpIncoming* TcpPeer::on_data(const TcpRecord& record, const char*& refusal) {
  const auto lane = lanes_.find(record.tag);
  if (lane == lanes_.end()) return nullptr;
  TcpReceive* const receive = lane->second.receives.take(
      [&](const TcpReceive& candidate) { return candidate.sequence == record.sequence; });
  if (!receive) return nullptr;
  if (record.bytes > receive->room) {
    refusal = "it sent a message longer than the memory for it";
    return nullptr;
  }
  receive->is_begun = true;
  if (receive->memory.bytes() < record.bytes) {  // its receiver is gone
    receive->own.resize(record.bytes);
    receive->memory = std::span(receive->own);
  }
  return receive;
}

void TcpPeer::on_message(TcpIncoming& message) { static_cast<TcpReceive&>(message).is_done = true; }

void TcpPeer::give_up(std::unique_ptr<TcpReceive> receive) {
  if (!receive->is_begun) {
    receive->memory = {};
  } else {
    receive->own.resize(receive->bytes);
    receive->memory.copy_out(std::span(receive->own).first(receive->received));
    receive->memory = std::span(receive->own);
  }
  given_up_receives_.push_back(std::move(receive));
}

// The receiver that was given up gets new memory. False: its message does not fit.
bool TcpPeer::take_over(TcpReceive& old, const MessageRoom& memory) {
  if (!old.is_begun) {
    old.memory = memory;
    old.room = std::min(old.room, memory.bytes());
    return true;
  }
  if (old.bytes > memory.bytes()) return false;
  memory.copy_in(0, std::span(old.own).first(old.received));
  old.memory = memory;
  old.own = {};
  return true;
}

// --- Failing ---

void TcpPeer::fail_if_broken(Tag tag) const {
  if (links_[kControl].is_broken()) fail(links_[kControl]);
  if (tag.lane == Lane::presence) return;
  for (const TcpLink& link : links_) {
    if (link.is_broken()) fail(link);
  }
}

void TcpPeer::fail(const TcpLink& link) const {
  std::string message =
      "the connection to rank " + std::to_string(rank_) + " at " + address_ + " is closed";
  if (!link.reason().empty()) message += ": " + link.reason();
  throw PeerError(message, rank_);
}

bool TcpPeer::read(TcpLink& link) {
  const bool has_more = link.read(*this);
  // A peer that closes one link closes all. What it sent before may still lie in the others.
  if (links_[kControl].is_broken()) {
    for (TcpLink& data : std::span(links_).subspan(kFirstData)) {
      while (data.read(*this)) {
      }
    }
    close();
  }
  return has_more;
}

// The control link last: a verdict may be on its way.
void TcpPeer::close() {
  for (std::size_t link = links_.size(); link > 0; --link) links_[link - 1].close();
}

}  // namespace gradwire
