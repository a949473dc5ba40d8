// Watcher: the runs in some directories, as they are now. A directory is a run's, or has the
// directories of runs in it, as a comparison's has; runs may begin later. Reads only when asked,
// and not more often than a few times a second. For any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "record/json_file.h"
#include "watch/run_reader.h"
#include "watch/run_state.h"

namespace gradwire::watch {

class Watcher {
 public:
  explicit Watcher(std::vector<std::filesystem::path> directories);

  std::vector<RunState> states();
  // The text of the page's document, and what it is called by those who ask whether it has changed.
  struct Document {
    std::string version;
    std::shared_ptr<const std::string> text;
  };
  Document document();
  // Of document(), without making it.
  std::string version();
  // The page, with the document inside.
  std::string page();
  // What to do while there is no run to be seen; empty if there is one.
  std::string hint();

 private:
  struct Watched {
    RunReader reader;
    std::string name = {};
  };

  void refresh();
  void find_runs();
  void add(const std::filesystem::path& directory);
  void name_runs();
  std::uint64_t readers_version() const;
  std::string version_text() const;
  record::Json make_document() const;

  const std::vector<std::filesystem::path> directories_;
  const std::string instance_;  // versions of another watcher are others

  std::mutex mutex_;
  std::vector<std::unique_ptr<Watched>> runs_;  // in the order in which they were found
  double searched_at_ = -1e9;                   // seconds of a steady clock
  double refreshed_at_ = -1e9;
  std::string made_version_;
  std::shared_ptr<const std::string> made_;
};

}  // namespace gradwire::watch
