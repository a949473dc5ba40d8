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

// Sums over samples; of text, over tokens.
struct Score {
  double loss = 0;
  std::uint64_t correct = 0;
  std::uint64_t count = 0;
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

// The spec is one of these, here with the defaults:
//   mlp(hidden=512, layers=1, dropout=0)        images or features
//   cnn(channels=16, hidden=256)                images of at least 4 x 4
//   resnet20, resnet18(width=64)                images of at least 16 x 16
//   transformer(layers=4, heads=4, width=128, dropout=0, tied=off)        text
// The first weights are a function of spec, shape and seed alone. Throws SpecError for the spec,
// and Error for a shape that the model cannot take.
std::unique_ptr<Model> make_model(std::string_view spec, const data::SampleShape& shape,
                                  std::uint64_t seed);

// What a model's spec says. Throws SpecError as make_model would.
struct ModelText {
  std::string spec;        // the canonical text
  std::string usual_data;  // learnt from where no data is named
};
ModelText parse_model(std::string_view spec);

// A spec of every model, for help texts.
std::vector<std::string> example_models();

// How many threads libtorch uses for one operation of the calling thread. Of matrix products, of
// any thread: call it before there is work. Results have the same bits for the same number.
void set_operation_threads(std::size_t threads);

}  // namespace gradwire::train
