// TensorCodecs: the codecs of one direction of an exchange. One for all tensors, or one for each.
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
  // Whether all tensors have the same codec, and that codec.
  bool has_common() const { return codecs_.size() == 1; }
  const Codec& common() const;

  // Properties of tensors that travel together: the strictest of their codecs decides.
  bool needs_whole_tensor() const { return needs_whole_tensor_; }
  bool collects() const { return collects_; }
  bool is_sparse() const { return is_sparse_; }  // all of them are
  std::size_t bucket_elements() const { return bucket_elements_; }

  // The common spec, or the specs of all tensors one after another.
  std::string spec() const;

 private:
  std::vector<std::shared_ptr<const Codec>> codecs_;
  bool needs_whole_tensor_ = false;
  bool collects_ = false;
  bool is_sparse_ = false;
  std::size_t bucket_elements_ = 1;
};

}  // namespace gradwire
