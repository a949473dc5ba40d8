// What a worker has seen of the loss's smoothness, from its own uploads: the largest
// |u - u_old|^2 / |x - xhat|^2. Noise in the gradients makes it larger, and the worker careful.
// Keeps the last upload as it was coded.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/method_exchange.h"
#include "gradwire/method/state.h"

namespace gradwire {

class SmoothnessEstimate {
 public:
  explicit SmoothnessEstimate(const Codec& codec) : codec_(codec) {}

  // A piece of this step's upload, which takes the place of the last one's.
  void add(const TensorPiece& piece, const SentPiece& sent);
  // All pieces were added; the model has moved by this, squared, since the last upload.
  void settle(double movement);

  double squared() const { return squared_; }
  // Gradients are this many times as large from now on.
  void rescale(float factor) {
    squared_ *= double{factor} * double{factor};
    last_.clear();
  }
  std::size_t bytes() const;

  void save(MethodState& state) const;
  void load(const MethodState& state);

 private:
  using Place = std::pair<std::size_t, std::size_t>;  // tensor and first element

  const Codec& codec_;
  Workspace workspace_;
  std::map<Place, std::vector<std::byte>> last_;
  std::vector<float> now_;
  std::vector<float> before_;
  double distance_ = 0;
  double squared_ = 0;
};

}  // namespace gradwire
