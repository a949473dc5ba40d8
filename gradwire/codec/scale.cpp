#include "gradwire/codec/codec.h"
#include "gradwire/codec/scale_facts.h"
#include "gradwire/core/thread_pool.h"

namespace gradwire {

Scale::Scale() : facts_(std::make_unique<Facts>()) {}
Scale::~Scale() = default;
Scale::Scale(Scale&&) noexcept = default;
Scale& Scale::operator=(Scale&&) noexcept = default;

void Scale::reset(std::size_t elements) {
  facts_->tensor_elements = elements;
  facts_->value = 0;
  facts_->poisoned = false;
  facts_->finite = true;
  facts_->indices.clear();
  facts_->values.clear();
}

bool Scale::is_finite() const { return facts_->finite; }

void Codec::measure(std::span<const float> tensor, const Rng& rng, Scale& scale) const {
  ThreadPool this_thread(1);
  measure(tensor, rng, scale, this_thread);
}

}  // namespace gradwire
