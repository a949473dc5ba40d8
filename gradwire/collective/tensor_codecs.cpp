#include "gradwire/collective/tensor_codecs.h"

#include <algorithm>
#include <numeric>

#include "gradwire/core/check.h"

namespace gradwire {

TensorCodecs::TensorCodecs(std::shared_ptr<const Codec> codec)
    : TensorCodecs(std::vector{std::move(codec)}) {}

TensorCodecs::TensorCodecs(std::vector<std::shared_ptr<const Codec>> each)
    : codecs_(std::move(each)), collects_(true), is_sparse_(true) {
  for (const auto& codec : codecs_) {
    GW_CHECK(codec != nullptr);
    needs_whole_tensor_ = needs_whole_tensor_ || codec->needs_whole_tensor();
    collects_ = collects_ && codec->collects();
    is_sparse_ = is_sparse_ && codec->is_sparse();
    bucket_elements_ = std::lcm(bucket_elements_, codec->bucket_elements());
  }
}

const Codec& TensorCodecs::common() const {
  GW_CHECK(has_common());
  return *codecs_.front();
}

std::string TensorCodecs::spec() const {
  std::string specs;
  for (const auto& codec : codecs_) specs += (specs.empty() ? "" : "; ") + codec->spec();
  return specs;
}

}  // namespace gradwire
