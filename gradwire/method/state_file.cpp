#include "gradwire/method/state_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "gradwire/file/atomic_file.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"
#include "gradwire/method/state.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

// Takes the prefix and the number behind it from the front of the text, if they are there.
std::optional<std::size_t> take_number(std::string_view prefix, std::string_view& text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

// The number of ranks that a state file's name tells; nothing if it is no such name.
std::optional<std::size_t> ranks_of_name(const std::string& name) {
  std::string_view rest = name;
  const auto rank = take_number("method-rank", rest);
  if (!rank) return std::nullopt;
  const auto ranks = take_number("-of-", rest);
  if (!ranks || *rank >= *ranks || name != state_file_name(*rank, *ranks)) return std::nullopt;
  return ranks;
}

// For which numbers of ranks the directory has files.
std::set<std::size_t> saved_numbers(const fs::path& directory) {
  std::set<std::size_t> numbers;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (const auto ranks = ranks_of_name(entry->path().filename().string())) numbers.insert(*ranks);
  }
  if (error) fail_file(directory, "cannot be listed: " + error.message());
  return numbers;
}

// Which number of ranks to go on from: this one if there are files of it, or the only one.
std::size_t choose_saved_number(const fs::path& directory, std::size_t ranks) {
  const std::set<std::size_t> numbers = saved_numbers(directory);
  if (numbers.empty()) {
    fail_file(directory, "has no states of a method, such as " + state_file_name(0, ranks));
  }
  if (numbers.contains(ranks)) return ranks;
  if (numbers.size() == 1) return *numbers.begin();
  std::string list;
  for (const std::size_t number : numbers) {
    if (!list.empty()) list += number == *numbers.rbegin() ? " and of " : ", of ";
    list += std::to_string(number);
  }
  fail_file(directory, "has states of " + list + " ranks, and of none of " + std::to_string(ranks) +
                           ": remove those that are not to be loaded");
}

bool is_there(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at cannot be read either
  return fs::exists(path, ignored);
}

void check_all_there(const fs::path& directory, std::size_t ranks) {
  std::string missing;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string name = state_file_name(rank, ranks);
    if (is_there(directory / name)) continue;
    missing += (missing.empty() ? "" : ", ") + name;
  }
  if (missing.empty()) return;
  fail_file(directory, "the states of all " + std::to_string(ranks) +
                           " ranks are needed, and these are missing: " + missing);
}

MethodState read_state_of(const fs::path& directory, std::size_t rank, std::size_t ranks) {
  const fs::path path = directory / state_file_name(rank, ranks);
  MethodState state = read_state(path);
  if (state.rank != rank || state.ranks != ranks) {
    fail_file(path, "is the state of rank " + std::to_string(state.rank) + " of " +
                        std::to_string(state.ranks) + ", not of the one that its name tells");
  }
  return state;
}

// Whether arrays of this memory hold all of the piece.
bool covers(const MethodState& state, const std::string& memory, const TensorPiece& piece) {
  const std::string& tensor = state.tensors[piece.tensor].name;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // from first up to end
  for (const StateArray& array : state.arrays) {
    if (array.sharing != Sharing::owner || array.memory != memory) continue;
    if (array.tensor == tensor) ranges.emplace_back(array.first, array.first + array.values.size());
  }
  std::ranges::sort(ranges);
  std::size_t covered_to = piece.first;
  for (const auto& [first, end] : ranges) {
    if (first <= covered_to) covered_to = std::max(covered_to, end);
  }
  return covered_to >= piece.first + piece.elements;
}

// Whether the owner's memories of the state are of all that this rank owns now.
bool covers(const MethodState& state, const std::vector<TensorPiece>& owned) {
  std::set<std::string> memories;
  for (const StateArray& array : state.arrays) {
    if (array.sharing == Sharing::owner) memories.insert(array.memory);
  }
  if (memories.empty()) return owned.empty();
  return std::ranges::all_of(owned, [&](const TensorPiece& piece) {
    return piece.tensor < state.tensors.size() &&
           std::ranges::all_of(
               memories, [&](const std::string& memory) { return covers(state, memory, piece); });
  });
}

}  // namespace

void write_state(const fs::path& path, const MethodState& state) {
  AtomicFile file(path);
  file.write(to_bytes(state));
  file.commit();
}

MethodState read_state(const fs::path& path) {
  Decoded<MethodState> state = parse_state(read_file(path));
  if (!state) fail_file(path, state.error());
  return std::move(*state);
}

std::string state_file_name(std::size_t rank, std::size_t ranks) {
  return "method-rank" + std::to_string(rank) + "-of-" + std::to_string(ranks) + ".gws";
}

void save_method(const Method& method, const fs::path& directory, std::size_t rank,
                 std::size_t ranks) {
  write_state(directory / state_file_name(rank, ranks), method.save());
}

void load_method(Method& method, const fs::path& directory, std::size_t rank, std::size_t ranks) {
  if (is_there(directory / state_file_name(rank, ranks))) {
    const MethodState state = read_state_of(directory, rank, ranks);
    if (covers(state, method.owned())) return method.load(state);
  }
  const std::size_t old_ranks = choose_saved_number(directory, ranks);
  check_all_there(directory, old_ranks);
  std::vector<MethodState> old;
  for (std::size_t i = 0; i < old_ranks; ++i) old.push_back(read_state_of(directory, i, old_ranks));
  method.load(reshare(old, rank, ranks));
}

}  // namespace gradwire
