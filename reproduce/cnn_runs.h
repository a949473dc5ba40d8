// The training run that claims compare methods by: a cnn of 409,034 parameters on Fashion-MNIST
// with 4 workers. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reproduce/claim.h"
#include "session/run_directory.h"

namespace gradwire::reproduce {

// The learning rate falls to zero: with a constant rate the test accuracy varies by a point from
// one evaluation to the next.
session::TrainOptions cnn_options(std::uint64_t steps, std::uint64_t evaluate_every,
                                  std::uint64_t seed);

// "a cnn of 409,034 parameters on Fashion-MNIST, 4 workers, 360 steps, ...": the common
// settings of runs that differ only in their seeds. At least one run.
std::string cnn_text(std::span<const session::FinishedRun> runs);

// Without curves.
Picture cnn_accuracy_picture(std::string name);

// A curve of that picture.
Curve cnn_accuracy_curve(const session::FinishedRun& run, std::string label);

}  // namespace gradwire::reproduce
