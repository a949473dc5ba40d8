#include "gradwire/codec/codec.h"
#include "gradwire/codec/scale_facts.h"

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

}  // namespace gradwire
