// Networks: everything that needs libtorch, as one table. It lives in a module of its own, which is
// loaded when a network is first asked for: loading libtorch takes half a second, and most commands
// do without it. For any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/source.h"
#include "train/design.h"
#include "train/model.h"

namespace gradwire::train {

struct Networks {
  std::vector<ModelFamily> families;
  std::unique_ptr<Model> (*make)(const Design& design, const data::SampleShape& shape,
                                 std::uint64_t seed) = nullptr;
  void (*set_threads)(std::size_t threads) = nullptr;  // as set_operation_threads
};

// Loads the module, once. Throws Error if it is missing or does not load.
const Networks& networks();

// The module's file, beside the program or in the installation's library directory, and the
// function in it that returns `const Networks*`.
inline constexpr const char* kNetworksFile = "libgradwire_networks.so";
inline constexpr const char* kNetworksEntry = "gradwire_networks";

}  // namespace gradwire::train
