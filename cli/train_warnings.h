// Warnings of train and compare before a run: settings that work, and are probably not meant.
#pragma once

#include <string>
#include <vector>

#include "console/console.h"
#include "session/train_options.h"

namespace gradwire::cli {

// A method that does not suit the optimiser, a share such as topk(1) that keeps everything, and
// more threads than the machine can use.
void warn_of_training(const session::TrainOptions& options, const std::vector<std::string>& methods,
                      const console::Console& console);

}  // namespace gradwire::cli
