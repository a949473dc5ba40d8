// .gw files: a tensor as encoded frames, with the spec of their codec and an optional shape
// (gw_format.h). All functions throw FileError with the path, and for bad bytes with the offset and
// the reason. Work is divided among the threads of the pool.
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

// A file that was parsed, and its codec. The view points into the bytes; a GwFile can be moved.
struct GwFile {
  std::filesystem::path path;
  std::vector<std::byte> bytes;
  GwView view;
  std::unique_ptr<const Codec> codec;
};

GwFile read_gw(const std::filesystem::path& path);
// The same for bytes in memory. Errors use the name.
GwFile parse_gw_file(const std::filesystem::path& name, std::vector<std::byte> bytes);

Tensor decode_gw(const GwFile& file, ThreadPool& pool);

// Writes the whole file or nothing. Its bytes depend on the tensor, the codec and the seed, but not
// on the number of threads.
void write_gw(const std::filesystem::path& path, const Tensor& tensor, const Codec& codec,
              std::uint64_t seed, ThreadPool& pool);
// The same bytes in memory.
std::vector<std::byte> gw_bytes(const Tensor& tensor, const Codec& codec, std::uint64_t seed,
                                ThreadPool& pool);

}  // namespace gradwire
