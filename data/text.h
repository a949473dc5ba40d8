// Text cut into tokens: characters, which are bytes, or words. Pure functions.
//
// Words are what white space separates, and at the end of every line comes a word of its own,
// "<eos>". The vocabulary is that of the training part. A token of the test part that is not in it
// is "<unk>" where the training part has that word; otherwise all such tokens are one more token of
// the vocabulary, which is there only if it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gradwire::data {

struct TokenizedText {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> test;
  std::size_t vocabulary = 0;
};

// Characters are numbered by their bytes.
TokenizedText characters_of(std::string_view train, std::string_view test);

// Words are numbered as they first come.
TokenizedText words_of(std::string_view train, std::string_view test);

// Where the last tenth of a text begins; for words, at the start of a line or at least of a word.
std::size_t last_tenth(std::string_view text, bool words);

}  // namespace gradwire::data
