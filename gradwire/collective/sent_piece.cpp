#include <algorithm>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/core/check.h"

namespace gradwire {

void SentPiece::decode(std::span<float> target) const {
  if (codec_ == nullptr) {
    std::fill(target.begin(), target.end(), 0.0F);
  } else {
    GW_CHECK(codec_->decode(payload_, target, *workspace_).has_value());
  }
}

std::span<const float> SentPiece::decoded() const {
  GW_CHECK(!is_empty());
  decode(scratch_);
  return scratch_;
}

void SentPiece::add(float weight, std::span<float> target) const {
  if (codec_ == nullptr) return;
  GW_CHECK(codec_->decode_add(payload_, weight, target, *workspace_).has_value());
}

}  // namespace gradwire
