// Fetcher: how a newcomer gets the model: the chunks of one state from several donors at once, then
// the updates since. A chunk that is wrong or late is asked for elsewhere; if donors have forgotten
// what is missing, it begins again. Without threads and sockets. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gradwire/elastic/donor.h"
#include "gradwire/elastic/packet.h"

namespace gradwire::elastic {

class Fetcher {
 public:
  // `donors` are the members that it is connected to.
  void tick(const std::vector<MemberId>& donors, Time now, const SendBytes& send);

  void on_manifest(const MemberId& from, const Manifest& manifest);
  void on_chunk(const MemberId& from, Chunk chunk);
  void on_update(Update update, Time now);
  void on_forgotten(const MemberId& from, const Forgotten& forgotten);
  void on_lost(const MemberId& donor);

  // The whole state, once. Nothing: it is not complete yet.
  std::optional<Bytes> take_state();
  // The next update up to that step, in order, after the state was taken.
  std::optional<Update> take_update(std::uint64_t up_to);

  std::size_t wrong_chunks() const { return wrong_chunks_; }

 private:
  struct Part {
    std::optional<Bytes> bytes;
    std::optional<MemberId> asked;
    Time asked_at{};
  };

  void begin_again();
  void ask_model(const std::vector<MemberId>& donors, Time now, const SendBytes& send);
  void ask_chunks(const std::vector<MemberId>& donors, Time now, const SendBytes& send);
  void ask_updates(const std::vector<MemberId>& donors, Time now, const SendBytes& send);
  std::size_t asked_of(const MemberId& donor) const;

  std::optional<Manifest> manifest_;
  std::set<MemberId> same_;     // donors of this very state
  std::set<MemberId> refused_;  // donors that sent something wrong
  std::vector<Part> parts_;
  std::size_t missing_ = 0;
  std::size_t wrong_chunks_ = 0;
  bool is_taken_ = false;
  std::uint64_t next_step_ = 0;
  std::map<std::uint64_t, Update> updates_;
  std::size_t donor_turn_ = 0;
  Time next_ask_{};
  Time last_update_{};
};

}  // namespace gradwire::elastic
