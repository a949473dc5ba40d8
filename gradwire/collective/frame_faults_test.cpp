// Frames that are not what they should be: damaged, late, of another run, of another codec. On
// every topology all ranks end, name the rank that sent it, and say what was wrong; nobody hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>

#include "gradwire/collective/parcel.h"
#include "gradwire/collective/test_support.h"
#include "gradwire/core/bytes.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

// What a rank sent on one lane to one peer, and what becomes of the next message.
using Tamper = std::function<void(Bytes& message, std::span<const Bytes> sent_before)>;

// A transport whose messages on one lane may be tampered with on their way out.
class TamperingTransport final : public Transport {
 public:
  TamperingTransport(std::unique_ptr<Transport> inner, Lane lane, Tamper tamper)
      : inner_(std::move(inner)), lane_(lane), tamper_(std::move(tamper)) {}

  const char* name() const override { return inner_->name(); }
  std::size_t rank() const override { return inner_->rank(); }
  std::size_t size() const override { return inner_->size(); }
  std::string address(std::size_t rank) const override { return inner_->address(rank); }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    if (tag.lane != lane_) return inner_->sender(peer, tag, memory);
    return std::make_unique<TamperingSender>(*this, peer, tag, memory);
  }
  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    return inner_->receiver(peer, tag, memory);
  }
  void wait_for_any(std::chrono::microseconds time) override { inner_->wait_for_any(time); }
  void wake() noexcept override { inner_->wake(); }
  void allreduce(std::span<float> values) override { inner_->allreduce(values); }
  void abandon() noexcept override { inner_->abandon(); }

 private:
  // Sends a copy, so that the sender's own memory stays as it is.
  class TamperingSender final : public Sender {
   public:
    TamperingSender(TamperingTransport& transport, std::size_t peer, Tag tag,
                    std::span<const std::byte> memory)
        : memory_(memory),
          sent_(transport.sent_[peer]),
          tamper_(transport.tamper_),
          copy_(memory.size() + 20000),
          inner_(transport.inner_->sender(peer, tag, copy_)) {}

    void start(std::size_t bytes, MessageToSend::Parts parts) override {
      Bytes message(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(bytes));
      for (const auto& part : parts) message.insert(message.end(), part.begin(), part.end());
      const Bytes honest = message;
      tamper_(message, sent_);
      sent_.push_back(honest);
      std::copy(message.begin(), message.end(), copy_.begin());
      inner_->start(message.size());
    }
    bool done() override { return inner_->done(); }
    bool wait_for(std::chrono::microseconds time) override { return inner_->wait_for(time); }

   private:
    const std::span<const std::byte> memory_;
    std::vector<Bytes>& sent_;
    const Tamper& tamper_;
    Bytes copy_;
    std::unique_ptr<Sender> inner_;
  };

  std::unique_ptr<Transport> inner_;
  const Lane lane_;
  const Tamper tamper_;
  std::map<std::size_t, std::vector<Bytes>> sent_;  // by peer
};

// Frames of one lane of a topology, in one codec.
struct FrameRoute {
  Topology topology;
  Lane lane;
  const char* codec;
};

constexpr std::size_t kRanks = 3;
constexpr std::size_t kCulprit = 1;
constexpr std::uint64_t kSteps = 3;

constexpr FrameRoute kRoutes[] = {
    {Topology::scatter, Lane::up, "natural"},
    {Topology::scatter, Lane::down, "natural"},
    {Topology::server, Lane::up, "natural"},
    {Topology::gather, Lane::up, "natural"},
    {Topology::ring, Lane::hop, "none"},
    {Topology::ring, Lane::hop, "natural"},
    {Topology::ring, Lane::hop, "randk(20%, seed=shared)"},
    {Topology::ring, Lane::down, "none"},
};

// Plain means come into the caller's memory, which has no room for more than the expected frame.
bool comes_into_tensors(const FrameRoute& route) {
  return route.topology == Topology::ring && route.lane == Lane::down;
}

// What each rank ended with: the error's text, and the rank that it names.
struct Ending {
  std::string what;
  std::size_t rank = kRanks;
};

// A few steps, in which rank 1 tampers with what it sends. All ranks have to end within the time
// that a silent peer is given, though here nobody is silent. Every run has values of its own:
// memory that still holds the frames of an earlier one would make a frame whole that was cut short.
std::vector<Ending> run_tampered(const FrameRoute& route, const Tamper& tamper) {
  static std::size_t runs = 0;
  const std::size_t first_rank = ++runs * kRanks;
  InProcessWorld world(kRanks);
  std::vector<Ending> endings(kRanks);
  run_ranks(kRanks, [&](std::size_t rank) {
    std::unique_ptr<Transport> transport = world.join(rank);
    if (rank == kCulprit) {
      transport = std::make_unique<TamperingTransport>(std::move(transport), route.lane, tamper);
    }
    Communicator communicator(std::move(transport), {.run = 7, .peer_timeout = 2s});
    const std::vector<TensorSize> shapes = {{"weights", 3000}, {"bias", 10}};
    RankTensors tensors(first_rank + rank, shapes);
    try {
      const auto exchange = make_exchange(
          communicator, shapes,
          {.up = make_codec(route.codec), .topology = route.topology, .segment_elements_max = 512});
      for (std::uint64_t step = 0; step < kSteps; ++step) exchange->run(tensors.call(step));
      communicator.close();
    } catch (const PeerError& error) {
      endings[rank] = {error.what(), error.rank()};
    }
  });
  return endings;
}

// Tampers with the n-th message to each peer.
Tamper nth(std::size_t n, const std::function<void(Bytes&)>& change) {
  return [n, change](Bytes& message, std::span<const Bytes> before) {
    if (before.size() == n) change(message);
  };
}

// Another header with a checksum that is right.
std::function<void(Bytes&)> with_header(const std::function<void(FrameHeader&)>& change) {
  return [change](Bytes& message) {
    const auto frame = parse_frame(message);
    ASSERT_TRUE(frame);
    FrameHeader header = frame->header;
    change(header);
    write_frame_header(header, frame->payload, message);
  };
}

// Another parcel, in a frame that is sound.
std::function<void(Bytes&)> with_parcel(const std::function<void(Bytes&)>& change) {
  return [change](Bytes& message) {
    const auto frame = parse_frame(message);
    ASSERT_TRUE(frame);
    const FrameHeader header = frame->header;
    Bytes parcel(frame->payload.begin(), frame->payload.end());
    change(parcel);
    message.resize(kFrameHeaderBytes);
    write_frame_header(header, parcel, message);
    message.insert(message.end(), parcel.begin(), parcel.end());
  };
}

void flip(Bytes& bytes, std::size_t at) { bytes[at] ^= std::byte{0x10}; }

std::string text(const FrameRoute& route) {
  return std::string(name(route.topology)) + " lane " +
         std::to_string(static_cast<int>(route.lane)) + ' ' + route.codec;
}

// All ranks name the culprit, and the first of the reasons that fits.
void expect_refused(const FrameRoute& route, const Tamper& tamper, const std::string& reason) {
  SCOPED_TRACE(text(route) + ": " + reason);
  const auto start = std::chrono::steady_clock::now();
  for (const Ending& ending : run_tampered(route, tamper)) {
    EXPECT_EQ(ending.rank, kCulprit) << ending.what;
    EXPECT_NE(ending.what.find("lost rank 1 (thread 1) at step "), std::string::npos)
        << ending.what;
    EXPECT_NE(ending.what.find(reason), std::string::npos) << ending.what;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

TEST(FrameFaultsThread, UntamperedFramesPass) {
  for (const FrameRoute& route : kRoutes) {
    SCOPED_TRACE(text(route));
    std::atomic<std::size_t> frames = 0;
    const auto endings = run_tampered(route, [&](Bytes&, std::span<const Bytes>) { ++frames; });
    for (const Ending& ending : endings) EXPECT_EQ(ending.what, "");
    EXPECT_GE(frames, 2 * kSteps);
  }
}

TEST(FrameFaultsThread, FlippedBitIsRefusedByTheChecksum) {
  for (const FrameRoute& route : kRoutes) {
    const auto in_payload = [](Bytes& frame) { flip(frame, frame.size() - 1); };
    expect_refused(route, nth(0, in_payload), "checksum");
    expect_refused(route, nth(2, in_payload), "checksum");
    expect_refused(route, nth(1, [](Bytes& frame) { flip(frame, kFrameHeaderBytes); }), "checksum");
    expect_refused(route, nth(1, [](Bytes& frame) { flip(frame, 16); }), "checksum");  // step
    expect_refused(route, nth(1, [](Bytes& frame) { flip(frame, 72); }), "checksum");  // itself
  }
}

TEST(FrameFaultsThread, WhatIsNoFrameIsRefused) {
  for (const FrameRoute& route : kRoutes) {
    expect_refused(route, nth(0, [](Bytes& frame) { flip(frame, 0); }), "magic");
    expect_refused(route, nth(0, [](Bytes& frame) { flip(frame, 4); }), "version");
    expect_refused(route, nth(0, [](Bytes& frame) { flip(frame, 6); }), "flag");
    expect_refused(route, nth(0, [](Bytes& frame) { flip(frame, 36); }), "reserved");
  }
}

TEST(FrameFaultsThread, FrameCutShortIsRefused) {
  for (const FrameRoute& route : kRoutes) {
    // What is behind a short message in its memory is from before, and does not pass for its end.
    expect_refused(route, nth(0, [](Bytes& frame) { frame.resize(frame.size() - 20); }),
                   "a frame from it was refused");
  }
}

// The transfer itself fails, and the peer gets its second to explain: so only where ways differ
// most.
TEST(FrameFaultsThread, MessageLongerThanItsMemoryIsRefused) {
  for (const FrameRoute& route : {kRoutes[0], kRoutes[3], kRoutes[4]}) {
    const auto too_long = [](Bytes& frame) { frame.resize(frame.size() + 10000); };
    expect_refused(route, nth(0, too_long), "longer than the memory for it");
  }
}

TEST(FrameFaultsThread, LateFrameIsRefused) {
  for (const FrameRoute& route : kRoutes) {
    // The frame of an earlier step in the place of a later one's.
    const Tamper earlier_step = [](Bytes& message, std::span<const Bytes> before) {
      const auto frame = parse_frame(message);
      if (frame->header.step == 1) message = before.front();
    };
    expect_refused(route, earlier_step, "another step");
    // An earlier frame of the same step again.
    const Tamper twice = [](Bytes& message, std::span<const Bytes> before) {
      if (before.size() == 1) message = before.front();
    };
    expect_refused(route, twice,
                   comes_into_tensors(route) ? "longer than the memory"
                                             : "frame that starts at another element");
  }
}

TEST(FrameFaultsThread, FrameOfSomethingElseIsRefusedThoughItsChecksumIsRight) {
  for (const FrameRoute& route : kRoutes) {
    const auto refused = [&](const std::function<void(FrameHeader&)>& change, const char* reason) {
      expect_refused(route, nth(1, with_header(change)), reason);
    };
    refused([](FrameHeader& header) { header.run = 8; }, "another run");
    refused([](FrameHeader& header) { header.step += 1; }, "another step");
    refused([](FrameHeader& header) { header.exchange += 1; }, "another exchange");
    refused([](FrameHeader& header) { header.sender = 2; }, "another sender");
    refused(
        [](FrameHeader& header) {
          header.direction = header.direction == Direction::up ? Direction::hop : Direction::up;
        },
        "another direction");
    refused([](FrameHeader& header) { header.codec_fingerprint ^= 1; }, "another codec");
    refused([](FrameHeader& header) { header.first_element += 1; }, "another element");
    refused([](FrameHeader& header) { header.element_count -= 1; }, "another number of elements");
  }
}

TEST(FrameFaultsThread, ParcelThatIsNoneIsRefused) {
  for (const FrameRoute& route : kRoutes) {
    const auto refused = [&](const std::function<void(Bytes&)>& change, const char* reason) {
      expect_refused(route, nth(0, with_parcel(change)), reason);
    };
    refused([](Bytes& parcel) { parcel.clear(); }, "parcel ends inside its head");
    refused([](Bytes& parcel) { parcel.pop_back(); }, "parcel is shorter");
    refused([](Bytes& parcel) { parcel.push_back({}); },
            comes_into_tensors(route) ? "longer than the memory" : "parcel is longer");
    refused(
        [](Bytes& parcel) {
          store_le(std::span(parcel), 0, std::numeric_limits<float>::quiet_NaN());
        },
        "invalid weight");
  }
}

// The parcel of one piece with another payload in it.
std::function<void(Bytes&)> with_payload_bytes(std::size_t bytes) {
  return with_parcel([bytes](Bytes& parcel) {
    parcel.resize(parcel_head_bytes(1) + bytes);
    store_le(std::span(parcel), kParcelWeightBytes, static_cast<std::uint32_t>(bytes));
  });
}

TEST(FrameFaultsThread, PayloadThatIsNoneNamesItsSender) {
  for (const FrameRoute& route : kRoutes) {
    for (const std::size_t bytes : {0u, 3u, 4u, 40u, 577u}) {
      SCOPED_TRACE(text(route) + ' ' + std::to_string(bytes));
      for (const Ending& ending : run_tampered(route, nth(0, with_payload_bytes(bytes)))) {
        EXPECT_EQ(ending.rank, kCulprit) << ending.what;
      }
    }
  }
}

}  // namespace
}  // namespace gradwire
