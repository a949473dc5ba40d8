#include "gradwire/collective/all_gather.h"

#include <algorithm>
#include <vector>

#include "gradwire/collective/frame_inbox.h"
#include "gradwire/collective/progress.h"
#include "gradwire/core/check.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/wire/frame.h"

namespace gradwire {

// Frames lie in a store by author, this rank's among them: from there a hub sends them on.
class AllGather::Impl final : public Job {
 public:
  Impl(Communicator& communicator, const Options& options)
      : Job(kAlone),
        communicator_(communicator.impl()),
        rank_(communicator.rank()),
        hub_(options.hub),
        number_(communicator_.take_exchange_number()),
        // The text is part of the wire format, which keeps the first name of this class.
        fingerprint_(fingerprint("bulletin " + options.name)),
        frames_(
            std::vector<std::size_t>(communicator.size(), kFrameHeaderBytes + options.bytes_max)),
        messages_(communicator.size()) {
    communicator_.call([&](PeerLinks& links) {
      links.agreement.compare(
          {{"all-gather", options.name},
           {"the most that is written at a time", std::to_string(options.bytes_max)},
           {"the hub", hub_ ? std::to_string(*hub_) : "none"}});
      for (std::size_t author = 0; author < messages_.size(); ++author) connect(links, author);
    });
  }

  ExchangeReport run(const AllGatherCall& call) {
    GW_CHECK(kFrameHeaderBytes + call.own.size() <= frames_.room(rank_).size());
    call_ = call;
    communicator_.queue(*this);
    communicator_.wait(*this);
    return report_;
  }

  std::span<const std::byte> message_of(std::size_t rank) const { return messages_[rank]; }

  [[noreturn]] void refuse(std::size_t author, const std::string& why) {
    communicator_.call([&](PeerLinks& links) {
      links.presence.fail(author, "what it wrote was refused: " + why);
    });
    throw PeerError("rank " + std::to_string(author) + ": " + why, author);
  }

  Turn advance(PeerLinks& links) override {
    report_ = {};
    links.presence.set_step(call_.step);
    std::ranges::fill(messages_, std::span<const std::byte>());
    const StopWatch watch(report_.phases.exchange_seconds);
    for (std::size_t author = 0; author < messages_.size(); ++author) {
      if (receivers_[author] && is_author(author)) receivers_[author]->start();
    }
    if (is_author(rank_)) write();
    if (rank_ != hub_) send(rank_);
    for (std::size_t author = 0; author < messages_.size(); ++author) {
      if (!is_author(author)) continue;
      if (receivers_[author]) read(author, links);
      if (rank_ == hub_) send(author);  // in the order in which they are read
    }
    for (const Outlet& outlet : outlets_) links.presence.await(*outlet.sender);
    return Turn::finished;
  }

 private:
  // Sends the message of one author to one reader.
  struct Outlet {
    std::size_t author = 0;
    std::unique_ptr<Sender> sender;
  };

  bool is_author(std::size_t rank) const { return !call_.author || *call_.author == rank; }

  // The senders and the receiver of an author's frames on this rank.
  void connect(PeerLinks& links, std::size_t author) {
    const bool sends = author == rank_ || rank_ == hub_;
    for (std::size_t reader = 0; reader < messages_.size(); ++reader) {
      const bool is_wanted =
          reader != author && reader != rank_ && (!hub_ || rank_ == hub_ || reader == hub_);
      if (sends && is_wanted) {
        const Tag tag{.lane = Lane::up};
        outlets_.push_back({author, links.transport.sender(reader, tag, frames_.room(author))});
      }
    }
    const std::size_t teller = hub_ && rank_ != hub_ ? *hub_ : author;
    receivers_.push_back(author == rank_ ? nullptr
                                         : links.transport.receiver(teller, {.lane = Lane::up},
                                                                    frames_.room(author)));
  }

  void write() {
    const std::span<std::byte> room = frames_.room(rank_);
    const std::span<std::byte> message = room.subspan(kFrameHeaderBytes, call_.own.size());
    std::ranges::copy(call_.own, message.begin());
    write_frame_header({.run = communicator_.run(),
                        .step = call_.step,
                        .exchange = number_,
                        .sender = static_cast<std::uint32_t>(rank_),
                        .direction = Direction::up,
                        .poison = call_.is_poison,
                        .codec_fingerprint = fingerprint_,
                        .element_count = message.size()},
                       message, room);
    messages_[rank_] = message;
    report_.poisoned = call_.is_poison;
    report_.traffic.message_bytes = kFrameHeaderBytes + message.size();
  }

  void send(std::size_t author) {
    if (!is_author(author)) return;
    const std::size_t bytes = kFrameHeaderBytes + messages_[author].size();
    for (const Outlet& outlet : outlets_) {
      if (outlet.author != author) continue;
      outlet.sender->start(bytes);
      report_.traffic.bytes_sent += bytes;
    }
  }

  void read(std::size_t author, PeerLinks& links) {
    links.presence.await(*receivers_[author]);
    const auto frame = parse_frame(frames_.room(author));
    if (!frame) gradwire::refuse(links.presence, author, "a frame", frame.error());
    const auto verified = verify(frame->header, {.run = communicator_.run(),
                                                 .step = call_.step,
                                                 .exchange = number_,
                                                 .sender = static_cast<std::uint32_t>(author),
                                                 .direction = Direction::up,
                                                 .codec_fingerprint = fingerprint_,
                                                 .first_element = 0,
                                                 .element_count = frame->payload.size()});
    if (!verified) gradwire::refuse(links.presence, author, "a frame", verified.error());
    links.presence.heard(author);
    messages_[author] = frame->payload;
    report_.poisoned = report_.poisoned || frame->header.poison;
    report_.traffic.bytes_received += frame->bytes();
  }

  Communicator::Impl& communicator_;
  const std::size_t rank_;
  const std::optional<std::size_t> hub_;
  const std::uint32_t number_;
  const std::uint64_t fingerprint_;
  FrameStore frames_;
  std::vector<std::span<const std::byte>> messages_;  // by author
  std::vector<std::unique_ptr<Receiver>> receivers_;  // by author; none for this rank
  std::vector<Outlet> outlets_;
  AllGatherCall call_;
  ExchangeReport report_;
};

AllGather::AllGather(Communicator& communicator, const Options& options)
    : impl_(std::make_unique<Impl>(communicator, options)) {}
AllGather::~AllGather() = default;

ExchangeReport AllGather::run(const AllGatherCall& call) { return impl_->run(call); }
void AllGather::refuse(std::size_t author, const std::string& why) { impl_->refuse(author, why); }
std::span<const std::byte> AllGather::from(std::size_t rank) const {
  return impl_->message_of(rank);
}

}  // namespace gradwire
