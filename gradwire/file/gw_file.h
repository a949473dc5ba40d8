// .gw files: a tensor as encoded frames, with the spec that decodes them and perhaps a shape
// (gw_format.h). Everything throws FileError with the path, and for bad bytes with the offset and
// the reason. The threads are the pool's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/file/gw_format.h"
#include "gradwire/file/tensor.h"

namespace gradwire {

// A file that parses and whose codec is known. The view points into the bytes, which stay where
// they are when the GwFile is moved.
struct GwFile {
  std::filesystem::path path;
  std::vector<std::byte> bytes;
  GwView view;
  std::unique_ptr<const Codec> codec;
};

GwFile read_gw(const std::filesystem::path& path);
// The same for bytes in memory; errors call them by this name.
GwFile parse_gw_file(const std::filesystem::path& name, std::vector<std::byte> bytes);

Tensor decode_gw(const GwFile& file, ThreadPool& pool);

// The file appears whole or not at all. Its bytes depend on the tensor, the codec and the seed, and
// not on the number of threads.
void write_gw(const std::filesystem::path& path, const Tensor& tensor, const Codec& codec,
              std::uint64_t seed, ThreadPool& pool);
// The same bytes in memory.
std::vector<std::byte> gw_bytes(const Tensor& tensor, const Codec& codec, std::uint64_t seed,
                                ThreadPool& pool);

}  // namespace gradwire
