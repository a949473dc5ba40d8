// The steps of a run as scalars for TensorBoard. The tags are listed in docs/run_record.md;
// python/gradwire/tensorboard.py uses the same ones.
#pragma once

#include <span>
#include <vector>

#include "record/event_file.h"
#include "record/step_records.h"

namespace gradwire::record {

// `ring_bytes` are those of a ring of floats (record/prediction.h), the base of the ratio.
std::vector<Scalar> scalars_of(const StepRecord& step, double ring_bytes);

// Writes the scalars of all steps, and flushes. Throws FileError.
void write_scalars(std::span<const StepRecord> steps, double ring_bytes, EventFile& file);

}  // namespace gradwire::record
