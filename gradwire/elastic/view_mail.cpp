#include "gradwire/elastic/view_mail.h"

#include <algorithm>

#include "gradwire/transport/check_transfer.h"
#include "gradwire/transport/ring_allreduce.h"

namespace gradwire::elastic {

// A receiver's memory, as the mail sees it.
class ViewMail::Slot {
 public:
  MessageRoom room;
  bool is_waiting = false;
};

// Members watch each other on their connections, so that nobody listens to signs of life here.
class MailSender final : public Sender {
 public:
  MailSender(std::shared_ptr<ViewMail> mail, std::size_t peer, Tag tag,
             std::span<const std::byte> memory)
      : mail_(std::move(mail)), peer_(peer), tag_(tag), memory_(memory) {}

  void start(std::size_t bytes, MessageToSend::Parts parts) override {
    check_message_bytes(bytes, memory_.size());
    if (tag_.lane == Lane::presence || mail_->is_over()) return;
    if (parts.empty()) return mail_->send_(peer_, tag_.number(), memory_.first(bytes));
    const MessageToSend message(memory_.first(bytes), parts);
    std::vector<std::byte> whole(message.bytes());
    message.copy_out(whole);
    mail_->send_(peer_, tag_.number(), whole);
  }
  bool done() override { return true; }
  bool wait_for(std::chrono::microseconds) override { return true; }

 private:
  const std::shared_ptr<ViewMail> mail_;
  const std::size_t peer_;
  const Tag tag_;
  const std::span<const std::byte> memory_;
};

class MailReceiver final : public Receiver {
 public:
  MailReceiver(std::shared_ptr<ViewMail> mail, std::size_t peer, Tag tag,
               std::span<std::byte> memory)
      : mail_(std::move(mail)), tag_(tag), memory_(memory) {
    const std::lock_guard lock(mail_->mutex_);
    queue_ = &mail_->queues_[{peer, tag.number()}];
    queue_->lane = tag.lane;
  }
  ~MailReceiver() override {
    const std::lock_guard lock(mail_->mutex_);
    std::erase(queue_->waiting, &slot_);
  }

  void start(MessageRoom::Parts parts) override {
    const std::lock_guard lock(mail_->mutex_);
    check_can_start(slot_.is_waiting);
    slot_.room = MessageRoom(memory_, parts);
    slot_.is_waiting = true;
    queue_->waiting.push_back(&slot_);
    if (queue_->stored.empty()) return;
    const std::vector<std::byte> bytes = std::move(queue_->stored.front());
    queue_->stored.pop_front();
    if (!ViewMail::put(*queue_, bytes)) mail_->is_ended_ = true;
  }
  bool done() override {
    const std::lock_guard lock(mail_->mutex_);
    return look();
  }
  bool wait_for(std::chrono::microseconds time) override {
    std::unique_lock lock(mail_->mutex_);
    mail_->changed_.wait_for(lock, time, [&] { return !slot_.is_waiting || is_ended(); });
    return look();
  }

 private:
  bool is_ended() const { return mail_->is_ended_ && tag_.lane != Lane::presence; }
  bool look() const {
    if (is_ended()) throw StepAborted();
    return !slot_.is_waiting;
  }

  const std::shared_ptr<ViewMail> mail_;
  const Tag tag_;
  const std::span<std::byte> memory_;
  ViewMail::Queue* queue_;  // maps do not move their elements
  ViewMail::Slot slot_;
};

class MailTransport final : public Transport {
 public:
  explicit MailTransport(std::shared_ptr<ViewMail> mail) : mail_(std::move(mail)) {}

  const char* name() const override { return "tcp"; }
  std::size_t rank() const override { return mail_->rank_; }
  std::size_t size() const override { return mail_->addresses_.size(); }
  std::string address(std::size_t rank) const override { return mail_->addresses_.at(rank); }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    check_peer(peer, rank(), size());
    return std::make_unique<MailSender>(mail_, peer, tag, memory);
  }
  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    check_peer(peer, rank(), size());
    return std::make_unique<MailReceiver>(mail_, peer, tag, memory);
  }

  void wait_for_any(std::chrono::microseconds time) override {
    std::unique_lock lock(mail_->mutex_);
    mail_->changed_.wait_for(lock, time, [&] { return mail_->has_news_; });
    mail_->has_news_ = false;
  }
  void wake() noexcept override {
    {
      const std::lock_guard lock(mail_->mutex_);
      mail_->has_news_ = true;
    }
    mail_->changed_.notify_all();
  }

  void allreduce(std::span<float> values) override { ring_allreduce(*this, values); }
  void abandon() noexcept override { mail_->end(); }

 private:
  const std::shared_ptr<ViewMail> mail_;
};

ViewMail::ViewMail(std::size_t rank, std::vector<std::string> addresses, Send send)
    : rank_(rank), addresses_(std::move(addresses)), send_(std::move(send)) {}

std::shared_ptr<ViewMail> ViewMail::make_echo(std::size_t ranks) {
  const auto mail =
      std::make_shared<ViewMail>(0, std::vector<std::string>(ranks, "a member"), Send());
  mail->send_ = [echo = mail.get()](std::size_t rank, std::uint32_t tag,
                                    std::span<const std::byte> bytes) {
    echo->deliver(rank, tag, bytes);
  };
  return mail;
}

std::unique_ptr<Transport> ViewMail::make_transport() {
  return std::make_unique<MailTransport>(shared_from_this());
}

// Under the lock, with a receiver that waits.
bool ViewMail::put(Queue& queue, std::span<const std::byte> bytes) {
  Slot& slot = *queue.waiting.front();
  if (bytes.size() > slot.room.bytes()) return false;
  slot.room.copy_in(0, bytes);
  slot.is_waiting = false;
  queue.waiting.pop_front();
  ++queue.taken;
  return true;
}

bool ViewMail::deliver(std::size_t rank, std::uint32_t tag, std::span<const std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_ || is_ended_) return true;
    has_news_ = true;
    Queue& queue = queues_[{rank, tag}];
    if (queue.waiting.empty()) {
      queue.stored.emplace_back(bytes.begin(), bytes.end());
    } else if (!put(queue, bytes)) {
      return false;
    }
  }
  changed_.notify_all();
  return true;
}

void ViewMail::begin_step() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, queue] : queues_) queue.taken_before = queue.taken;
}

void ViewMail::give_results(std::size_t rank, Lane lane,
                            std::span<const std::span<const std::byte>> frames) {
  {
    const std::lock_guard lock(mutex_);
    has_news_ = true;
    for (auto& [key, queue] : queues_) {
      if (key.first != rank || queue.lane != lane || queue.waiting.empty()) continue;
      for (std::size_t i = queue.taken - queue.taken_before;
           i < frames.size() && !queue.waiting.empty(); ++i) {
        if (!put(queue, frames[i])) is_ended_ = true;
      }
    }
  }
  changed_.notify_all();
}

void ViewMail::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (auto& [key, queue] : queues_) queue.stored.clear();
}

void ViewMail::end() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = is_ended_ = has_news_ = true;
  }
  changed_.notify_all();
}

bool ViewMail::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_stopped_ || is_ended_;
}

}  // namespace gradwire::elastic
