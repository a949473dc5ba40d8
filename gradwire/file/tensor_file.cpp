#include "gradwire/file/tensor_file.h"

#include <cstring>
#include <new>
#include <string>

#include "gradwire/core/bytes.h"
#include "gradwire/core/error.h"
#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/npy.h"
#include "gradwire/file/read_file.h"

namespace gradwire {
namespace {

enum class Format { f32, npy };

Format format_of(const std::filesystem::path& path) {
  const std::filesystem::path extension = path.extension();
  if (extension == ".f32") return Format::f32;
  if (extension == ".npy") return Format::npy;
  fail_file(path, "unknown kind of file: tensors are .f32 (raw little-endian floats) or .npy");
}

// Values lie in memory as they do in the file (core/bytes.h asserts it).
std::vector<float> floats_from(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Tensor tensor_from(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  if (format_of(path) == Format::npy) {
    Decoded<NpyView> npy = parse_npy(bytes);
    if (!npy) fail_file(path, npy.error());
    return {floats_from(npy->data), std::move(npy->shape)};
  }
  if (const std::size_t rest = bytes.size() % sizeof(float); rest != 0) {
    fail_file(path, DecodeError{"the file ends within a float of 4 bytes", bytes.size() - rest});
  }
  return {floats_from(bytes), std::nullopt};
}

}  // namespace

Tensor read_tensor(const std::filesystem::path& path) {
  check_tensor_path(path);
  const std::vector<std::byte> bytes = read_file(path);
  try {
    return tensor_from(path, bytes);
  } catch (const std::bad_alloc&) {
    fail_file(path, "is too large for the memory there is");
  }
}

void write_tensor(const std::filesystem::path& path, const Tensor& tensor) {
  if (tensor.shape && shape_elements(*tensor.shape) != tensor.values.size()) {
    fail_file(path, "cannot be written: the tensor has " + std::to_string(tensor.values.size()) +
                        " values, and its shape is of another number");
  }
  const Format format = format_of(path);
  AtomicFile file(path);
  if (format == Format::npy) {
    const std::vector<std::uint64_t> one_dimension = {tensor.values.size()};
    file.write(npy_header(tensor.shape.value_or(one_dimension)));
  }
  file.write(std::as_bytes(std::span(tensor.values)));
  file.commit();
}

void check_tensor_path(const std::filesystem::path& path) { format_of(path); }

}  // namespace gradwire
