#include "watch/watcher.h"

#include <algorithm>
#include <chrono>

#include "gradwire/transport/secret.h"
#include "report/document.h"
#include "report/page.h"
#include "report/read_runs.h"
#include "watch/token.h"

namespace gradwire::watch {
namespace {

namespace fs = std::filesystem;

constexpr double kRefreshSeconds = 0.2;
constexpr double kSearchSeconds = 1;  // for new runs: a directory may have many entries
constexpr std::size_t kRunsMax = 64;  // a page of more is of no use to anybody
constexpr std::size_t kReadMax = 16u
                                 << 20;  // of all records, in one refresh: some tenths of a second

double steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The directories below it that are runs, oldest first: a comparison runs one after the other.
std::vector<fs::path> runs_below(const fs::path& directory) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code ignored;
    if (!it->is_directory(ignored) || !is_run_directory(it->path())) continue;
    found.emplace_back(fs::last_write_time(it->path(), ignored), it->path());
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

}  // namespace

Watcher::Watcher(std::vector<fs::path> directories)
    : directories_(std::move(directories)), instance_(random_token().substr(0, 12)) {}

void Watcher::add(const fs::path& directory) {
  const bool is_known = std::ranges::any_of(
      runs_, [&](const auto& run) { return run->reader.directory() == directory; });
  if (is_known || runs_.size() >= kRunsMax) return;
  runs_.push_back(std::make_unique<Watched>(Watched{.reader = RunReader(directory)}));
}

void Watcher::find_runs() {
  for (const fs::path& directory : directories_) {
    if (is_run_directory(directory)) {
      add(directory);
      continue;
    }
    for (const fs::path& below : runs_below(directory)) add(below);
  }
}

void Watcher::name_runs() {
  std::vector<fs::path> directories;
  std::vector<std::string> names;
  for (const auto& run : runs_) {
    const std::string method = run->reader.method();
    directories.push_back(run->reader.directory());
    names.push_back(method.empty() ? run->reader.directory().filename().string() : method);
  }
  report::tell_runs_apart(directories, names);
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i]->name = names[i];
}

void Watcher::refresh() {
  if (steady_now() - refreshed_at_ < kRefreshSeconds) return;
  if (steady_now() - searched_at_ >= kSearchSeconds) {
    find_runs();
    searched_at_ = steady_now();
  }
  const std::size_t bytes_max = kReadMax / std::max<std::size_t>(1, runs_.size());
  for (const auto& run : runs_) run->reader.read(bytes_max);
  name_runs();
  refreshed_at_ = steady_now();
}

std::uint64_t Watcher::readers_version() const {
  std::uint64_t sum = 0;
  for (const auto& run : runs_) sum += run->reader.version();
  return sum;
}

std::string Watcher::version_text() const {
  return instance_ + "-" + std::to_string(runs_.size()) + "-" + std::to_string(readers_version());
}

record::Json Watcher::make_document() const {
  std::vector<report::Run> runs;
  for (const auto& watched : runs_) {
    runs.push_back(watched->reader.run());
    runs.back().name = watched->name;
  }
  record::Json document = report::make_document(runs);
  document["version"] = version_text();
  return document;
}

std::vector<RunState> Watcher::states() {
  const std::scoped_lock lock(mutex_);
  refresh();
  std::vector<RunState> states;
  for (const auto& run : runs_) {
    states.push_back(run->reader.state(unix_now()));
    states.back().name = run->name;
  }
  return states;
}

Watcher::Document Watcher::document() {
  const std::scoped_lock lock(mutex_);
  refresh();
  const std::string version = version_text();
  if (made_ == nullptr || version != made_version_) {
    made_ = std::make_shared<const std::string>(
        make_document().dump(-1, ' ', false, record::Json::error_handler_t::replace));
    made_version_ = version;
  }
  return {version, made_};
}

std::string Watcher::version() {
  const std::scoped_lock lock(mutex_);
  refresh();
  return version_text();
}

std::string Watcher::page() {
  const std::scoped_lock lock(mutex_);
  refresh();
  return report::make_live_page(make_document());
}

std::string Watcher::hint() {
  const std::scoped_lock lock(mutex_);
  if (!runs_.empty()) return "";
  std::string names;
  for (const fs::path& directory : directories_) {
    names += (names.empty() ? "" : ", ") + directory.string();
  }
  return "no run yet in " + names + ": start one with gradwire train --out " +
         directories_.front().string();
}

}  // namespace gradwire::watch
