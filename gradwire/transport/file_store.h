// A start store of files in a directory that all ranks see.
#pragma once

#include <filesystem>

#include "gradwire/transport/start_store.h"

namespace gradwire {

class FileStore final : public StartStore {
 public:
  // Throws StartError if there is no such directory or it is not ours to write.
  FileStore(const std::string& directory, std::chrono::milliseconds time_max);

  bool add(const std::string& key, const std::vector<char>& value) override;
  std::optional<std::vector<char>> get_until(const std::string& key,
                                             Clock::time_point time) override;

 private:
  std::filesystem::path path_of(const std::string& key) const;

  const std::filesystem::path directory_;
};

}  // namespace gradwire
