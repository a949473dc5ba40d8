// The training of a network as the options ask for it: data, task and length, with the defaults for
// what they leave open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "data/source.h"
#include "gradwire/collective/grace.h"
#include "session/train_options.h"
#include "train/task.h"

namespace gradwire::session {

// Throws UsageError for options that do not fit to the data, and what data::open_source throws.
std::shared_ptr<const data::Source> open_data(const TrainOptions& options);

// For one rank. `threads` is the default number for one worker; at least 1.
train::TaskOptions task_options(const TrainOptions& options, const data::SampleShape& shape,
                                std::size_t threads);

// Of the ranks that a step waits for. Throws UsageError.
Grace grace_of(const TrainOptions& options);

std::uint64_t steps_of(const TrainOptions& options, const train::Task& task);
std::uint64_t evaluate_every_of(const TrainOptions& options, const train::Task& task,
                                std::uint64_t steps);

}  // namespace gradwire::session
