// The training run by which claims compare whole methods: a cnn of 409,034 parameters on
// Fashion-MNIST, by 4 workers. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reproduce/claim.h"
#include "session/run_directory.h"

namespace gradwire::reproduce {

// The rate falls to zero: with a constant one the accuracy goes up and down by a point from one
// look at the test set to the next.
session::TrainOptions cnn_options(std::uint64_t steps, std::uint64_t evaluate_every,
                                  std::uint64_t seed);

// "a cnn of 409,034 parameters on Fashion-MNIST, 4 workers, 360 steps, ...": what such runs have in
// common that differ in their seeds. At least one.
std::string cnn_text(std::span<const session::FinishedRun> runs);

// Without curves.
Picture cnn_accuracy_picture(std::string name);

// A curve of that picture.
Curve cnn_accuracy_curve(const session::FinishedRun& run, std::string label);

}  // namespace gradwire::reproduce
