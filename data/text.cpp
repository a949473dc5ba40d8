#include "data/text.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace gradwire::data {
namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";
constexpr std::string_view kEndOfLine = "<eos>";
constexpr std::string_view kUnknown = "<unk>";
constexpr std::uint32_t kNoToken = ~std::uint32_t{0};

// Calls `take` with every word, and with kEndOfLine behind every line.
template <class Take>
void for_each_word(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
      if (line.empty()) break;
      const std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
      take(line.substr(0, end));
      line.remove_prefix(end);
    }
    take(kEndOfLine);
  }
}

}  // namespace

TokenizedText characters_of(std::string_view train, std::string_view test) {
  std::array<std::uint32_t, 256> tokens;
  tokens.fill(kNoToken);
  for (const char c : train) tokens[static_cast<unsigned char>(c)] = 0;
  TokenizedText text;
  for (std::uint32_t& token : tokens) {
    if (token != kNoToken) token = static_cast<std::uint32_t>(text.vocabulary++);
  }
  const auto unknown = static_cast<std::uint32_t>(text.vocabulary);
  text.train.reserve(train.size());
  for (const char c : train) text.train.push_back(tokens[static_cast<unsigned char>(c)]);
  text.test.reserve(test.size());
  for (const char c : test) {
    const std::uint32_t token = tokens[static_cast<unsigned char>(c)];
    text.test.push_back(std::min(token, unknown));
    if (token == kNoToken) text.vocabulary = unknown + 1;
  }
  return text;
}

TokenizedText words_of(std::string_view train, std::string_view test) {
  std::unordered_map<std::string_view, std::uint32_t> tokens;
  TokenizedText text;
  for_each_word(train, [&](std::string_view word) {
    const auto next = static_cast<std::uint32_t>(tokens.size());
    text.train.push_back(tokens.try_emplace(word, next).first->second);
  });
  const auto known = static_cast<std::uint32_t>(tokens.size());
  const auto marked = tokens.find(kUnknown);
  const std::uint32_t unknown = marked == tokens.end() ? known : marked->second;
  text.vocabulary = known;
  for_each_word(test, [&](std::string_view word) {
    const auto found = tokens.find(word);
    text.test.push_back(found == tokens.end() ? unknown : found->second);
    if (text.test.back() == known) text.vocabulary = known + 1;
  });
  return text;
}

std::size_t last_tenth(std::string_view text, bool words) {
  const std::size_t cut = text.size() - text.size() / 10;
  if (!words) return cut;
  const std::size_t line_end = text.find('\n', cut);
  if (line_end != text.npos && line_end + 1 < text.size()) return line_end + 1;
  return std::min(text.find_first_of(kSpaces, cut), text.size());
}

}  // namespace gradwire::data
