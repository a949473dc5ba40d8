#include "cli/matrix_kernels.h"

#include <cstdlib>

namespace gradwire::cli {

void choose_matrix_kernels() {
#if defined(__x86_64__)
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  constexpr int kKeepIfSet = 0;
  if (has_avx512) {
    setenv("OPENBLAS_CORETYPE", "SKYLAKEX", kKeepIfSet);
  } else if (has_avx2) {
    setenv("OPENBLAS_CORETYPE", "HASWELL", kKeepIfSet);
  }
#endif
}

}  // namespace gradwire::cli
