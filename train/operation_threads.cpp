#include "train/operation_threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "gradwire/core/check.h"

namespace gradwire::train {

void set_torch_threads(std::size_t threads) {
  GW_CHECK(threads > 0);
  const int count = static_cast<int>(threads);
  at::set_num_threads(count);  // OpenMP keeps this for each thread
  // Matrix products are OpenBLAS's, which has threads of its own, where it is what libtorch found.
  using SetThreads = void (*)(int);
  const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set != nullptr) set(count);
}

}  // namespace gradwire::train
