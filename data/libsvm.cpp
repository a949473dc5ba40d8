#include "data/libsvm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "gradwire/file/file_failure.h"
#include "gradwire/file/read_file.h"

namespace gradwire::data {
namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";

// Takes the text up to `end` off the front, and `end` with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return taken;
}

// Takes the next word off the front; empty at the end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  const std::size_t length = std::min(line.find_first_of(kSpaces), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length);
  return word;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || text.empty()) return std::nullopt;
  return number;
}

// A finite number, perhaps with a plus before it, which labels often have.
std::optional<double> finite_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const std::optional<double> number = number_of<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// Whatever stands there, short enough for a message and without what a terminal would obey.
std::string shown(std::string_view word) {
  constexpr std::size_t kShownMax = 40;
  std::string text(word.substr(0, kShownMax));
  for (char& c : text) c = ' ' <= c && c <= '~' ? c : '?';
  return "'" + text + (word.size() > kShownMax ? "..." : "") + "'";
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {}

  Dataset read() {
    const std::vector<std::byte> bytes = read_file(path_);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!text.empty()) {
      std::string_view line = take_until(text, '\n');
      ++line_;
      read_line(take_until(line, '#'));
    }
    if (data_.labels.empty()) fail_file(path_, "has no rows");
    return std::move(data_);
  }

 private:
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    fail_file(path_, "line " + std::to_string(line_) + ": expected " + std::string(expected) +
                         ", found " + shown(found));
  }

  void read_line(std::string_view line) {
    const std::string_view label = take_word(line);
    if (label.empty()) return;
    const std::optional<double> number = finite_of(label);
    if (!number) fail("a label, which is a number", label);
    data_.labels.push_back(*number);
    std::uint32_t index_before = 0;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      index_before = read_feature(word, index_before);
    }
    data_.rows.end_row();
  }

  // Returns the index.
  std::uint32_t read_feature(std::string_view word, std::uint32_t index_before) {
    const std::size_t colon = word.find(':');
    if (colon == word.npos) fail("INDEX:VALUE", word);
    const std::optional<std::uint32_t> index = number_of<std::uint32_t>(word.substr(0, colon));
    if (!index || *index < 1 || *index > kFeaturesMax) {
      fail("an index from 1 to " + std::to_string(kFeaturesMax), word);
    }
    if (*index <= index_before) {
      fail("an index above " + std::to_string(index_before) + ", since indices rise in a row",
           word);
    }
    const std::optional<double> value = finite_of(word.substr(colon + 1));
    if (!value) fail("a finite number behind the colon", word);
    SparseRows& rows = data_.rows;
    rows.features = std::max<std::size_t>(rows.features, *index);
    if (*value != 0) {
      rows.columns.push_back(*index - 1);
      rows.values.push_back(*value);
    }
    return *index;
  }

  const std::filesystem::path& path_;
  std::size_t line_ = 0;
  Dataset data_;
};

}  // namespace

Dataset read_libsvm(const std::filesystem::path& path) {
  Dataset data = Reader(path).read();
  if (data.rows.features == 0) fail_file(path, "has rows, but no features in them");
  return data;
}

}  // namespace gradwire::data
