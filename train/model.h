// Model: a network with its loss. Parameters and their gradients are plain floats here, each in one
// stretch of memory, so that nothing but the network itself needs libtorch. For one thread at a
// time; different models may be used by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace gradwire::train {

struct Parameter {
  std::string name;  // "layer1.conv2.weight"
  std::vector<std::size_t> shape;
  std::size_t first = 0;  // its place in Model::values() and Model::gradients()
  std::size_t elements = 0;
};

// What dropout depends on.
struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  std::uint32_t part = 0;  // of a batch that is worked on in several parts
};

// Sums over targets: samples, tokens of text, or pixels of segments.
struct Score {
  double loss = 0;
  std::uint64_t correct = 0;
  std::uint64_t count = 0;
  // Of segments, where a model is evaluated: for each class, the pixels that have it and were said
  // to have it (both), and those of which one is true (either).
  std::vector<std::uint64_t> both = {};
  std::vector<std::uint64_t> either = {};
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const std::string& spec() const = 0;  // the canonical text

  // In the order in which a backward pass has their gradients: the last layer's come first.
  virtual std::span<const Parameter> parameters() const = 0;
  virtual std::span<float> values() = 0;     // of all parameters, one after the other
  virtual std::span<float> gradients() = 0;  // as many
  // Running statistics of normalisation layers, one after the other. Training updates them, and
  // evaluation uses them; gradients do not depend on them.
  virtual std::span<float> statistics() = 0;

  // One forward and backward pass. Adds factor times the gradient of the batch's mean loss to
  // gradients(), and calls `ready`, if there is one, for each parameter when its gradient is
  // complete, on this thread, in the order in which they are completed. What `ready` throws comes
  // out here. Returns the batch's score, before the factor.
  using Ready = std::function<void(std::size_t parameter)>;
  virtual Score learn(const data::Batch& batch, const Draw& draw, float factor,
                      const Ready& ready) = 0;

  // With the running statistics, without dropout. Changes nothing.
  virtual Score evaluate(const data::Batch& batch) = 0;
};

// models.inc lists the models; the first line of each model's file has its options and defaults.
// The initial weights depend on spec, shape and seed alone. Throws SpecError for a wrong spec, and
// Error for a shape that the model does not accept.
std::unique_ptr<Model> make_model(std::string_view spec, const data::SampleShape& shape,
                                  std::uint64_t seed);

// Reads a spec without making the model. Throws SpecError as make_model does.
struct ModelText {
  std::string spec;        // the canonical text
  std::string usual_data;  // the default data set
};
ModelText parse_model(std::string_view spec);

// An example spec of each model, for help texts.
std::vector<std::string> example_models();

// How many threads libtorch uses for one operation of the calling thread. Of matrix products, of
// any thread: call it before there is work. Results have the same bits for the same number.
void set_operation_threads(std::size_t threads);

}  // namespace gradwire::train
