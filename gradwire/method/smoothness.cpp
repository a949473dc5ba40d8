#include "gradwire/method/smoothness.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "gradwire/method/distance.h"

namespace gradwire {
namespace {

constexpr const char* kSquared = "smoothness squared";
constexpr std::string_view kUpload = "own upload ";

}  // namespace

void SmoothnessEstimate::add(const TensorPiece& piece, const SentPiece& sent) {
  std::vector<std::byte>& last = last_[{piece.tensor, piece.first}];
  now_.resize(piece.elements);
  before_.resize(piece.elements);
  sent.decode(now_);
  if (!last.empty() && codec_.decode(last, before_, workspace_)) {
    distance_ += distance_squared(now_, before_);
  }
  last.assign(sent.payload().begin(), sent.payload().end());
}

void SmoothnessEstimate::settle(double movement) {
  if (movement > 0 && distance_ > 0) squared_ = std::max(squared_, distance_ / movement);
  distance_ = 0;
}

std::size_t SmoothnessEstimate::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [place, payload] : last_) bytes += payload.size();
  return bytes;
}

// Payloads are keyed by their place: "own upload 3 65536".
void SmoothnessEstimate::save(MethodState& state) const {
  state.numbers[kSquared] = squared_;
  for (const auto& [place, payload] : last_) {
    state.blobs[std::string(kUpload) + std::to_string(place.first) + ' ' +
                std::to_string(place.second)] = payload;
  }
}

void SmoothnessEstimate::load(const MethodState& state) {
  const auto squared = state.numbers.find(kSquared);
  squared_ = squared == state.numbers.end() ? 0 : squared->second;
  last_.clear();
  for (const auto& [key, payload] : state.blobs) {
    if (!key.starts_with(kUpload)) continue;
    Place place;
    const char* const end = key.data() + key.size();
    const auto tensor = std::from_chars(key.data() + kUpload.size(), end, place.first);
    if (tensor.ptr == end) continue;
    std::from_chars(tensor.ptr + 1, end, place.second);
    last_[place] = payload;
  }
}

}  // namespace gradwire
