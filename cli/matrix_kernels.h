// Which kernels OpenBLAS uses, by which libtorch multiplies matrices.
#pragma once

namespace gradwire::cli {

// OpenBLAS of Debian 12 does not know processors that are newer than itself, and takes kernels for
// SSE3 there, which are two to four times slower. This names kernels that fit the instruction set,
// unless OPENBLAS_CORETYPE does so already. Before libtorch is loaded.
void choose_matrix_kernels();

}  // namespace gradwire::cli
