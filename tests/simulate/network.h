// The simulated network: connections between processes, each with an order of its own, that are
// slow, break, are cut in one direction or both, and heal. Time is virtual.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <variant>
#include <vector>

#include "gradwire/membership/message.h"
#include "tests/simulate/dice.h"
#include "tests/simulate/step_exchange.h"

namespace gradwire::simulate {

using Clock = std::int64_t;  // milliseconds since the simulation began

struct FramePacket {
  FrameKey key;
  Bytes bytes;
};
struct FetchRequest {
  std::uint64_t world = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
};
struct ModelRequest {
  std::uint64_t least_step = 0;
};
struct ModelReply {
  std::uint64_t step = 0;
  std::uint64_t world = 0;  // of the step's frames
  std::shared_ptr<const Vector> model;
  std::vector<Bytes> frames;
};
struct Closed {};  // the other end has closed the connection, or its host says so
struct Ended {     // a witness: the sender's process has ended
  std::shared_ptr<const std::vector<std::byte>> last_word;
};
using Packet = std::variant<std::vector<std::byte>, FramePacket, FetchRequest, ModelRequest,
                            ModelReply, Closed, Ended>;

struct Event {
  enum class Kind { packet, connect, tick, computed, written, fault, resume };

  Clock at = 0;
  std::uint64_t order = 0;
  Kind kind = Kind::tick;
  std::uint32_t to = 0;          // the process
  std::uint32_t from = 0;        // of a packet or a connection
  std::uint64_t generation = 0;  // of the connection; or the event's own number
  std::uint32_t packet = 0;

  bool operator>(const Event& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

// Also holds the queue of everything that will happen.
class Network {
 public:
  explicit Network(std::uint64_t seed) : dice_(seed) {}

  void add_process();
  std::size_t processes() const { return ends_.size(); }

  Clock now() const { return now_; }
  bool next(Event& event);
  void schedule(Clock delay, Event event);
  void again(Event event, Clock at);  // an event whose process cannot take it yet
  Packet take_packet(const Event& event);

  bool is_open(std::uint32_t a, std::uint32_t b) const { return ends_[a][b].generation != 0; }
  // Sends if there is a connection.
  void send(std::uint32_t from, std::uint32_t to, Packet packet);
  void send_unconnected(std::uint32_t from, std::uint32_t to, Packet packet);
  // Whether a packet has come through: its connection still stands and nothing is cut.
  bool arrives(const Event& event);
  void connect(std::uint32_t from, std::uint32_t to);  // an event `connect` follows if it works
  bool establish(std::uint32_t from, std::uint32_t to, bool is_possible);
  bool can_connect(std::uint32_t a, std::uint32_t b) const { return !cut_[a][b] && !cut_[b][a]; }

  enum class Notice { tell, silent };
  void close(std::uint32_t from, std::uint32_t to, Notice notice);
  void forget_end(std::uint32_t at, std::uint32_t peer) { ends_[at][peer].generation = 0; }
  bool is_current(const Event& event) const {
    return ends_[event.to][event.from].generation == event.generation;
  }

  void cut(std::uint32_t from, std::uint32_t to) { ++cut_[from][to]; }
  void heal(std::uint32_t from, std::uint32_t to);
  void heal_all();

 private:
  struct EndPoint {
    std::uint64_t generation = 0;  // 0: closed
    Clock last_arrival = 0;        // at this end: packets of a connection do not overtake
    bool is_connecting = false;
    std::vector<Event> held;  // arrived at a cut
  };

  Clock delay();
  void enqueue(std::uint32_t from, std::uint32_t to, std::uint64_t generation, Packet packet);

  Dice dice_;
  Clock now_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t generation_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_packets_;
  std::vector<std::vector<EndPoint>> ends_;  // [at][peer]
  std::vector<std::vector<int>> cut_;        // [from][to]: how many cuts
};

}  // namespace gradwire::simulate
