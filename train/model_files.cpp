#include "train/model_files.h"

#include <string>

#include "gradwire/file/file_failure.h"
#include "gradwire/file/tensor_file.h"

namespace gradwire::train {

void write_model_files(const std::filesystem::path& directory, Model& model,
                       std::span<const float> statistics) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) fail_file(directory, "cannot be made: " + failure.message());
  for (const Parameter& parameter : model.parameters()) {
    const auto values = model.values().subspan(parameter.first, parameter.elements);
    write_tensor(
        directory / (parameter.name + ".npy"),
        {.values = {values.begin(), values.end()},
         .shape = std::vector<std::uint64_t>(parameter.shape.begin(), parameter.shape.end())});
  }
  if (statistics.empty()) return;
  write_tensor(directory / "running_statistics.npy",
               {.values = {statistics.begin(), statistics.end()}});
}

}  // namespace gradwire::train
