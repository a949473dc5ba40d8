// The sample that methods are measured on: the tensors of a model or of a generated one, cut to a
// size that is measured quickly, and their values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/page_array.h"
#include "gradwire/method/method.h"

namespace gradwire::advise {

// Throws SpecError for an unknown model, and UsageError for a model that is not a network.
void check_network(const std::string& model);

// The tensors of a network, in the order in which a backward pass computes their gradients. Empty
// data means the model's usual data set. Throws SpecError and FileError.
std::vector<MethodTensor> tensors_of_model(const std::string& model, const std::string& data);

// The tensors of a generated model with that many parameters.
std::vector<MethodTensor> tensors_of_size(std::size_t parameters, std::size_t tensors);

// The number of tensors that networks of this size have.
std::size_t usual_tensors(std::size_t parameters);

// The same tensors with fewer rows and columns, so that all together have about `elements_max`
// elements. Smaller models are not cut.
std::vector<MethodTensor> cut_tensors(std::vector<MethodTensor> tensors, std::size_t elements_max);

struct ValueOptions {
  std::string input;                   // a file whose values are repeated; empty: generate
  std::string generate = "gradients";  // or "gaussian"

  const std::string& source() const { return input.empty() ? generate : input; }
};
bench::PageArray<float> make_values(const ValueOptions& options, std::size_t elements);

}  // namespace gradwire::advise
