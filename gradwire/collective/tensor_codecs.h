// TensorCodecs: the codecs of one way of an exchange. One for all tensors, or one for each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"

namespace gradwire {

class TensorCodecs {
 public:
  TensorCodecs() = default;
  explicit TensorCodecs(std::shared_ptr<const Codec> codec);
  explicit TensorCodecs(std::vector<std::shared_ptr<const Codec>> each);

  const Codec& of(std::size_t tensor) const { return *codecs_[codecs_.size() == 1 ? 0 : tensor]; }
  // Where all tensors have the same.
  const Codec& common() const;

  // What they have to be treated like when they travel together.
  bool needs_whole_tensor() const { return needs_whole_tensor_; }
  bool collects() const { return collects_; }
  std::size_t bucket_elements() const { return bucket_elements_; }

  // The spec that all have, or one for each tensor behind another.
  std::string spec() const;

 private:
  std::vector<std::shared_ptr<const Codec>> codecs_;
  bool needs_whole_tensor_ = false;
  bool collects_ = false;
  std::size_t bucket_elements_ = 1;
};

}  // namespace gradwire
