// Uploads: the last message of each rank, for the segments that this rank averages. Lazy methods
// need them: a rank may skip its upload, and then its last message counts again. Used on the
// progress thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwire/collective/parcel.h"
#include "gradwire/core/expected.h"

namespace gradwire {

class Uploads {
 public:
  Uploads() = default;
  Uploads(std::size_t ranks, std::size_t segments)
      : segments_(segments), parcels_(ranks * segments) {}

  // Empty if that rank has sent nothing yet.
  std::span<const std::byte> at(std::size_t rank, std::size_t segment) const {
    return parcels_[rank * segments_ + segment];
  }

  // A parcel of this exchange. commit() copies it, so its memory must stay valid until then.
  void note(std::size_t rank, std::size_t segment, std::span<const std::byte> parcel) {
    noted_.push_back({rank * segments_ + segment, parcel});
  }
  void commit();
  void forget() { noted_.clear(); }
  // The same at once, for a message that came too late for its exchange.
  void keep(std::size_t rank, std::size_t segment, std::span<const std::byte> parcel) {
    parcels_[rank * segments_ + segment].assign(parcel.begin(), parcel.end());
  }

  std::size_t bytes() const;

  // To and from bytes. load() refuses bytes of another number of ranks or segments; `piece_counts`
  // has the number of pieces of each segment.
  std::vector<std::byte> save() const;
  Decoded<void> load(std::span<const std::byte> bytes, std::span<const std::size_t> piece_counts);

 private:
  struct Noted {
    std::size_t parcel_index = 0;
    std::span<const std::byte> parcel;
  };

  std::size_t segments_ = 0;
  std::vector<std::vector<std::byte>> parcels_;  // by rank, by segment
  std::vector<Noted> noted_;
};

}  // namespace gradwire
