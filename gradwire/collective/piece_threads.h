// PieceThreads: the threads that encode and decode pieces, and the scratch memory of each. The
// progress thread is one of them, so one thread means no others. The communicator owns it, and its
// exchanges use it in turns, on the progress thread.
//
// Which thread gets a piece does not matter: pieces do not depend on each other, and everything
// that has an order (payloads in a frame, refusals) follows the order of the pieces.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/core/expected.h"
#include "gradwire/core/thread_pool.h"

namespace gradwire {

// The memory of one thread.
struct PieceMemory {
  Workspace workspace = {};
  Scale scale = {};
  std::vector<float> floats = {};  // for one piece, to work on in the cache
  double encode_seconds = 0;
  double decode_seconds = 0;

  std::span<float> scratch(std::size_t elements) { return std::span(floats).first(elements); }
};

// A payload that cannot be decoded, and the rank that sent it.
struct BadPayload {
  std::size_t sender = 0;
  DecodeError error;
};

class PieceThreads {
 public:
  explicit PieceThreads(std::size_t threads) : pool_(threads), memories_(threads) {}

  std::size_t count() const { return memories_.size(); }

  // For loops that are not over pieces, such as the search for a tensor's largest elements.
  ThreadPool& pool() { return pool_; }
  // That of the progress thread.
  PieceMemory& own_memory() { return memories_.front(); }

  // Exchanges with pieces of that many elements follow.
  void reserve(std::size_t piece_elements);

  // Whether a loop of that many pieces, with so many elements in all, is worth several threads.
  bool shares(std::size_t pieces, std::size_t elements) const {
    constexpr std::size_t kElementsMin = std::size_t{1} << 16;
    return memories_.size() > 1 && pieces > 1 && elements >= kElementsMin;
  }

  // Calls body(i, memory) for each i < pieces: on all threads if the loop is shared, otherwise on
  // this thread and in order. The body returns std::optional<BadPayload>; the one of the first
  // piece that has one is returned. Throws what a body throws.
  template <class Body>
  std::optional<BadPayload> run(std::size_t pieces, bool is_shared, const Body& body) {
    if (!is_shared) {
      for (std::size_t i = 0; i < pieces; ++i) {
        if (auto bad = body(i, own_memory())) return bad;
      }
      return std::nullopt;
    }
    FirstBad first;
    const auto task = [&](std::size_t i, std::size_t thread) {
      if (auto bad = body(i, memories_[thread])) first.note(i, *bad);
      finish_piece();
    };
    // A reference fits into std::function without an allocation.
    pool_.run(pieces, [&task](std::size_t i, std::size_t thread) { task(i, thread); });
    level_memories();
    return first.bad;
  }

  // The seconds that bodies have noted since the last call, as shares of the time they took.
  struct Shares {
    double encode = 0;
    double decode = 0;
  };
  Shares take_shares();

 private:
  struct FirstBad {
    void note(std::size_t piece, const BadPayload& found) {
      const std::lock_guard lock(mutex);
      if (bad && at < piece) return;
      at = piece;
      bad = found;
    }
    std::mutex mutex = {};
    std::size_t at = 0;
    std::optional<BadPayload> bad = {};
  };

  // Makes what a thread has written past the caches visible to the others.
  static void finish_piece();
  // A thread that meets its first large piece late should not allocate for it then.
  void level_memories();

  ThreadPool pool_;
  std::vector<PieceMemory> memories_;  // by thread
};

}  // namespace gradwire
