// The cost model: how long an exchange takes, from sizes, from what a worker's processor takes for
// them, and from its link. Pure functions.
//
// An exchange is played through segment by segment, in the order in which gradwire/collective does
// it, for one worker that stands for all: they begin together, are equally fast, and have links of
// the same rate each way. (With server there are two kinds of worker, and both are played.) A
// worker has a thread that encodes and decodes, and a link out and a link in, which work side by
// side, each at one thing after the other: a segment leaves when it is encoded and the link is
// free, and is decoded when it has come and the thread is free. The switch in between is never the
// bottleneck.
#pragma once

#include <cstddef>

#include "gradwire/collective/topology.h"

namespace gradwire::plan {

// Seconds of one thread for each element of a gradient.
struct CodecSeconds {
  double prepare = 0;      // before the first segment can be encoded: a threshold, memories
  double encode = 0;       // of a ring that sums payloads: copying one
  double decode_add = 0;   // one message, into a sum
  double encode_mean = 0;  // for the way down, by scatter and server
  double decode = 0;       // the mean that came; by gather, putting it into its place
  double settle = 0;       // when all has come: memories
};

struct PlannedExchange {
  Topology topology = Topology::scatter;
  std::size_t elements = 0;
  std::size_t ranks = 1;
  std::size_t segment_elements = 1;  // as gradwire::segment_elements() says, for one
  double up_bytes = 4;               // of payload for each element; on a ring, of a sum
  double down_bytes = 4;             // of a mean
  CodecSeconds codec = {};
  bool mean_waits = false;    // the downlink's codec sees the whole chunk before it encodes
  bool decodes_last = false;  // as methods with a memory do: not before all has come
};

struct Network {
  double bytes_per_second = 0;  // of a worker's link, each way: see payload_rate()
  double latency_seconds = 0;   // from one program to another, one way
  double message_seconds = 0;   // of the thread, for each message that it sends or takes
  double byte_seconds = 0;  // of a thread beside it, which sends a byte and takes another one in

  // That a worker has for its two threads. Below 2 they share, which costs a tenth; below 1 workers
  // take turns, which costs a tenth more, and all that they compute takes longer by as much.
  double cores = 2;
};

// What is left to payloads of a link of that many bits in a second, headers of TCP, IP and Ethernet
// taken off, in bytes.
double payload_rate(double bits_per_second);

// From the start of an exchange to its end on the last worker. One that is alone only computes.
double exchange_seconds(const PlannedExchange& exchange, const Network& network);

// How many times as long computing takes a worker that has so many cores for its two threads.
double slowdown(double cores);

// What the worker that sends most sends for it, frames included.
double bytes_sent(const PlannedExchange& exchange);

// The same for a worker that is not the server. Without a server all workers send equally much.
double worker_bytes_sent(const PlannedExchange& exchange);

// A step of training: `compute` seconds, of which the last two thirds are the backward pass, and
// `groups` exchanges of `exchange` seconds each. A group's gradient is ready when its share of the
// backward pass is done, so all but the last may hide behind the rest of it; what does not is
// added. With one group nothing hides.
double step_seconds(double compute, double exchange, std::size_t groups);

}  // namespace gradwire::plan
