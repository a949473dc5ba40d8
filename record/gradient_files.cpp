#include "record/gradient_files.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "gradwire/core/error.h"
#include "gradwire/file/tensor_file.h"
#include "record/fields.h"
#include "record/json_file.h"

namespace gradwire::record {
namespace {

struct Entry {
  MethodTensor tensor;
  std::size_t offset = 0;
};

constexpr std::size_t kElementsMax = std::size_t{1} << 40;

Entry read_entry(const Json& json) {
  Entry entry;
  entry.tensor.name = field<std::string>(json, "name");
  const Json offset = field<Json>(json, "offset");
  if (!offset.is_number_unsigned()) throw Error("its offset is not a whole number from 0 on");
  entry.offset = offset.get<std::size_t>();
  std::size_t elements = 1;
  const Json shape = field<Json>(json, "shape");
  if (!shape.is_array()) throw Error("its shape is not a list of whole numbers");
  for (const Json& dimension : shape) {
    if (!dimension.is_number_unsigned()) throw Error("its shape is not a list of whole numbers");
    const auto size = dimension.get<std::size_t>();
    if (size == 0 || size > kElementsMax / elements) throw Error("its shape makes no sense");
    elements *= size;
    entry.tensor.shape.push_back(size);
  }
  return entry;
}

}  // namespace

void write_shapes(const std::filesystem::path& path, std::span<const MethodTensor> tensors) {
  Json entries = Json::array();
  std::size_t offset = 0;
  for (const MethodTensor& tensor : tensors) {
    entries.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"offset", offset}});
    offset += tensor.elements();
  }
  write_json_file(path, entries);
}

void write_gradients(const std::filesystem::path& path,
                     std::span<const std::span<const float>> gradients) {
  Tensor all;
  for (const std::span<const float> gradient : gradients) {
    all.values.insert(all.values.end(), gradient.begin(), gradient.end());
  }
  all.shape = {all.values.size()};
  write_tensor(path, all);
}

std::vector<MethodTensor> read_shapes(const std::filesystem::path& path) {
  const Json document = read_json_file(path);
  if (!document.is_array() || document.empty()) {
    throw FileError(path.string() +
                    ": is not a list of tensors, as in [{\"name\": \"w\", \"shape\": "
                    "[10, 20], \"offset\": 0}]");
  }
  std::vector<Entry> entries;
  for (const Json& json : document) {
    try {
      entries.push_back(read_entry(json));
    } catch (const FileError&) {
      throw;
    } catch (const Error& error) {
      throw FileError(path.string() + ": tensor " + std::to_string(entries.size() + 1) + ": " +
                      error.what());
    }
  }
  std::ranges::sort(entries, {}, &Entry::offset);
  std::vector<MethodTensor> tensors;
  std::set<std::string> names;
  std::size_t end = 0;
  for (Entry& entry : entries) {
    if (entry.offset != end) {
      throw FileError(path.string() + ": tensor '" + entry.tensor.name + "' begins at element " +
                      std::to_string(entry.offset) + ", where the one before it ends at " +
                      std::to_string(end));
    }
    if (!names.insert(entry.tensor.name).second) {
      throw FileError(path.string() + ": two tensors are called '" + entry.tensor.name + '\'');
    }
    end += entry.tensor.elements();
    tensors.push_back(std::move(entry.tensor));
  }
  return tensors;
}

std::vector<float> read_gradients(const std::filesystem::path& path,
                                  std::span<const MethodTensor> tensors) {
  Tensor file = read_tensor(path);
  std::size_t elements = 0;
  for (const MethodTensor& tensor : tensors) elements += tensor.elements();
  if (file.values.size() != elements) {
    throw FileError(path.string() + ": holds " + std::to_string(file.values.size()) +
                    " values, but the shapes are of " + std::to_string(elements));
  }
  return std::move(file.values);
}

}  // namespace gradwire::record
