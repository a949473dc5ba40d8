// AllGather: ranks write, and all read what was written: every rank, or one of them. What they
// write are bytes that mean something to the caller, in frames that are checked as all others are.
// Each author tells every reader, or all tell a hub, which passes it on.
//
// All ranks make the same all-gathers and the same calls in the same order. For one thread at a
// time; the communicator must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"

namespace gradwire {

struct AllGatherCall {
  std::uint64_t step = 0;
  std::optional<std::size_t> author = {};  // nothing: all ranks write
  std::span<const std::byte> own = {};     // what this rank writes, if it does
  bool is_poison = false;                  // it has met a NaN or an infinity: nobody may commit
};

class AllGather {
 public:
  struct Options {
    std::string name;
    std::size_t bytes_max = 0;            // that a rank writes at a time
    std::optional<std::size_t> hub = {};  // the rank that passes everything on
  };

  // Compares the options with all peers. Throws StartError.
  AllGather(Communicator& communicator, const Options& options);
  ~AllGather();

  // Waits until all that is written has come. Throws PeerError.
  ExchangeReport run(const AllGatherCall& call);

  // What a rank wrote in the last call; empty if it was no author. Until the next call.
  std::span<const std::byte> from(std::size_t rank) const;

  // What it wrote makes no sense to the caller: ends the communicator on all ranks, which name this
  // one as the cause. Throws PeerError.
  [[noreturn]] void refuse(std::size_t author, const std::string& why);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gradwire
