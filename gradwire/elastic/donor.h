// Donor: what a member keeps for newcomers, and gives under a rate cap: states after some step, in
// chunks, and the updates since then. Without threads and sockets: the owner passes the time and a
// way to send. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "gradwire/elastic/packet.h"
#include "gradwire/membership/view.h"

namespace gradwire::elastic {

using membership::MemberId;
using membership::Time;

// Queues bytes for another process; drops them if there is no connection.
using SendBytes = std::function<void(const MemberId& to, Bytes bytes)>;

struct DonorOptions {
  double bytes_per_second = 0;  // of chunks; 0: no limit
  std::size_t chunk_bytes = std::size_t{1} << 18;
  std::size_t history_bytes_max = std::size_t{256} << 20;
};

class Donor {
 public:
  explicit Donor(const DonorOptions& options) : options_(options) {}

  // The newest state, if it is young enough to be worth fetching.
  const Manifest* fresh_manifest(Time now) const;

  // The state after that step; null if it is not here.
  const Manifest* manifest_of(std::uint64_t step) const;

  void add_model(std::uint64_t step, Bytes state, Time now);
  // The step was committed. Updates are kept while somebody may need them.
  void add_update(const std::shared_ptr<const Update>& update, Time now);

  void on_ask_chunk(const MemberId& from, const AskChunk& ask, Time now, const SendBytes& send);
  void on_ask_updates(const MemberId& from, const AskUpdates& ask, Time now);
  void forget(const MemberId& id);

  // Sends what is due. Updates after step `certain` may still be replaced, and wait.
  void serve(std::uint64_t certain, Time now, const SendBytes& send);

 private:
  struct Model {
    Manifest manifest;
    Bytes state;
    Time made{};
    Time used{};
  };
  struct Asked {
    MemberId from;
    AskChunk ask;
  };
  struct Kept {
    std::uint64_t step = 0;
    Bytes bytes;  // the packet
  };

  Model* find(std::uint64_t step);
  void serve_chunks(Time now, const SendBytes& send);
  void drop_unused(Time now);

  DonorOptions options_;
  std::deque<Model> models_;  // oldest first
  std::deque<Kept> history_;  // of the steps after the oldest model's
  std::size_t history_bytes_ = 0;
  std::deque<Asked> asked_;
  std::map<MemberId, std::uint64_t> readers_;  // of updates: the next step of each
  double budget_bytes_ = 0;
  Time last_served_{};
};

}  // namespace gradwire::elastic
