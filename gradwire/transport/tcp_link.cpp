#include "gradwire/transport/tcp_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// So many stretches of memory go out, or come in, by one call.
constexpr std::size_t kPartsAtOnce = 64;

// Then other links have their turn.
constexpr std::size_t kReadBytesAtOnce = 4 << 20;

// Stretches of memory for one call.
class Parts {
 public:
  // False: there is no room for it.
  bool add(std::span<const std::byte> part) {
    if (count_ == parts_.size()) return false;
    // Writing does not change the memory.
    parts_[count_++] = {const_cast<std::byte*>(part.data()), part.size()};
    return true;
  }
  bool add(std::span<std::byte> part) { return add(std::span<const std::byte>(part)); }

  // What has not gone out yet of a record.
  bool add_rest(const TcpOutgoing& record) {
    const std::size_t header_bytes = record.header.size();
    if (record.sent < header_bytes &&
        !add(std::span<const std::byte>(record.header).subspan(record.sent))) {
      return false;
    }
    const std::size_t sent = record.sent - std::min(record.sent, header_bytes);
    return record.payload.for_each(sent, record.payload.bytes(),
                                   [this](std::span<const std::byte> part) { return add(part); });
  }

  std::span<const iovec> get() const { return std::span(parts_).first(count_); }

 private:
  std::array<iovec, kPartsAtOnce> parts_;
  std::size_t count_ = 0;
};

}  // namespace

void TcpLink::queue(TcpOutgoing& record) {
  GW_CHECK(!record.is_queued);
  record.sent = 0;
  record.is_queued = true;
  queue_.push(record);
}

void TcpLink::flush() {
  while (!queue_.empty() && !is_broken_) {
    Parts parts;
    for (const TcpOutgoing* record = queue_.front(); record && parts.add_rest(*record);) {
      record = record->next;
    }
    const Channel::Progress progress = channel_.write(parts.get());
    count_sent(progress.bytes);
    if (progress.state == Channel::State::closed) return close(channel_.reason());
    if (progress.state == Channel::State::blocked) return;
  }
}

void TcpLink::count_sent(std::size_t bytes) {
  while (bytes > 0) {
    TcpOutgoing& record = *queue_.front();
    const std::size_t taken = std::min(bytes, record.total() - record.sent);
    record.sent += taken;
    bytes -= taken;
    if (record.sent < record.total()) return;
    queue_.pop();
    record.is_queued = false;
    ++changes_;
  }
}

bool TcpLink::read(TcpRecords& records) {
  std::size_t total = 0;
  while (!is_broken_) {
    Parts parts;
    const bool is_whole =
        !incoming_ ||
        incoming_->memory.for_each(incoming_->received, incoming_->bytes,
                                   [&](std::span<std::byte> part) { return parts.add(part); });
    if (is_whole) parts.add(std::span(staged_).subspan(staged_bytes_));  // if there is room for it
    const Channel::Progress progress = channel_.read(parts.get());
    take(progress.bytes, records);
    if (progress.state == Channel::State::closed) close(channel_.reason());
    if (progress.state == Channel::State::blocked && (progress.bytes == 0 || !is_ending_)) {
      return false;
    }
    total += progress.bytes;
    if (total >= kReadBytesAtOnce) return true;
  }
  return false;
}

// So many bytes have come: first those of the message, then staged ones.
void TcpLink::take(std::size_t bytes, TcpRecords& records) {
  if (incoming_) {
    const std::size_t taken = std::min(bytes, incoming_->bytes - incoming_->received);
    incoming_->received += taken;
    bytes -= taken;
    end_message_if_whole(records);
  }
  staged_bytes_ += bytes;
  std::size_t at = 0;
  while (!incoming_ && staged_bytes_ - at >= TcpRecord::kBytes) {
    const std::span<const std::byte> staged(staged_.data() + at, staged_bytes_ - at);
    if (!begin_record(staged.first(TcpRecord::kBytes), records)) return;
    at += TcpRecord::kBytes;
    if (!incoming_) continue;
    const auto there = staged.subspan(
        TcpRecord::kBytes, std::min(staged.size() - TcpRecord::kBytes, incoming_->bytes));
    incoming_->memory.copy_in(0, there);
    incoming_->received = there.size();
    at += there.size();
    end_message_if_whole(records);
  }
  if (at > 0 && staged_bytes_ > at) {
    std::memmove(staged_.data(), staged_.data() + at, staged_bytes_ - at);
  }
  staged_bytes_ -= at;
}

// False: the record is refused, and the link is closed.
bool TcpLink::begin_record(std::span<const std::byte> header, TcpRecords& records) {
  const char* refusal = "it sent a record that is not gradwire's";
  const auto record = TcpRecord::read(header);
  if (record && record->kind == TcpRecord::Kind::ready && records.on_ready(*record)) return true;
  if (record && record->kind == TcpRecord::Kind::data) {
    incoming_ = records.on_data(*record, refusal);
  }
  if (!incoming_) {
    close(refusal);
    return false;
  }
  incoming_->bytes = record->bytes;
  incoming_->received = 0;
  return true;
}

void TcpLink::end_message_if_whole(TcpRecords& records) {
  if (incoming_->received < incoming_->bytes) return;
  records.on_message(*std::exchange(incoming_, nullptr));
  ++changes_;
}

void TcpLink::close(const std::string& reason) {
  if (is_broken_) return;
  is_broken_ = true;
  ++changes_;
  reason_ = reason;
  queue_.clear();  // nothing of the queue goes out any more
  incoming_ = nullptr;
  channel_.close();
}

}  // namespace gradwire
