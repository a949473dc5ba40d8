#include "cli/train_warnings.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "cli/options.h"
#include "gradwire/method/parsed_method.h"
#include "train/optimiser.h"

namespace gradwire::cli {
namespace {

void warn_of_optimiser(const session::TrainOptions& options, const std::string& spec,
                       const console::Console& console) {
  if (options.is_convex()) return;
  const ParsedMethod method = parse_method(spec);
  const std::string warning =
      train::optimiser_warning(method.traits, method.spec, method.up.get(),
                               train::parse_optimiser(options.network.optimiser));
  if (!warning.empty()) fmt::print(console.err, "gradwire: {}\n", warning);
}

}  // namespace

void warn_of_training(const session::TrainOptions& options, const std::vector<std::string>& methods,
                      const console::Console& console) {
  for (const std::string& method : methods) {
    warn_of_optimiser(options, method, console);
    warn_of_share(method, console);
  }
  if (options.network.threads) warn_of_threads(*options.network.threads, "of each worker", console);
  warn_of_threads(options.workers.codec_threads, "that encode and decode", console);
}

}  // namespace gradwire::cli
