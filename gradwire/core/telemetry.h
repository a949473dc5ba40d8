// Traffic and Phases: the bytes and the seconds of an exchange, a step or a run. Value types that
// add up with +=, from the exchange to the record and its page.
#pragma once

#include <cstdint>

namespace gradwire {

// Bytes of one rank, frame headers included.
struct Traffic {
  std::uint64_t message_bytes =
      0;  // the rank's own message, counted once however often it is sent; see docs/exchange.md
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;

  Traffic& operator+=(const Traffic& other) {
    message_bytes += other.message_bytes;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

// The time of one rank, by phase. Encoding, exchanging and decoding overlap with computing, so the
// sum of the phases may exceed the wall-clock time.
struct Phases {
  double compute_seconds = 0;  // gradients and the model's update; 0 where nothing is trained
  double encode_seconds = 0;
  double exchange_seconds = 0;  // the rest of the exchange: mostly waiting for peers
  double decode_seconds = 0;

  Phases& operator+=(const Phases& other) {
    compute_seconds += other.compute_seconds;
    encode_seconds += other.encode_seconds;
    exchange_seconds += other.exchange_seconds;
    decode_seconds += other.decode_seconds;
    return *this;
  }
  bool operator==(const Phases&) const = default;
};

}  // namespace gradwire
