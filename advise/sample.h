// What advice is measured on: the tensors of a model, or of a made-up one, cut to a size that is
// quickly worked on, and values to fill them with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/page_array.h"
#include "gradwire/method/method.h"

namespace gradwire::advise {

// Throws SpecError for what is no model, and UsageError for one that is no network.
void check_network(const std::string& model);

// The tensors of a network, in the order in which a backward pass has their gradients; empty data
// is what is usual for the model. Throws as opening data and making models does.
std::vector<MethodTensor> tensors_of_model(const std::string& model, const std::string& data);

// Tensors of a made-up model with so many parameters.
std::vector<MethodTensor> tensors_of_size(std::size_t parameters, std::size_t tensors);

// How many of those there are when nobody says: as networks have them.
std::size_t usual_tensors(std::size_t parameters);

// The same tensors with fewer rows and columns, so that they have about `elements_max` together; as
// they are if they have no more than that.
std::vector<MethodTensor> cut_tensors(std::vector<MethodTensor> tensors, std::size_t elements_max);

struct ValueOptions {
  std::string input;                   // a file, of which the values are repeated; empty: generate
  std::string generate = "gradients";  // or "gaussian"

  const std::string& source() const { return input.empty() ? generate : input; }
};
bench::PageArray<float> make_values(const ValueOptions& options, std::size_t elements);

}  // namespace gradwire::advise
