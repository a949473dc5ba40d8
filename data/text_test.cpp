#include "data/text.h"

#include <string>

#include "gtest/gtest.h"

namespace gradwire::data {
namespace {

using Tokens = std::vector<std::uint32_t>;

TEST(Text, CharactersAreNumberedByTheirBytes) {
  const TokenizedText text = characters_of("cab\xff", "b\xff");
  EXPECT_EQ(text.train, (Tokens{2, 0, 1, 3}));
  EXPECT_EQ(text.test, (Tokens{1, 3}));
  EXPECT_EQ(text.vocabulary, 4u);
}

TEST(Text, UnknownCharactersAreOneMoreTokenOnlyIfThereAreSome) {
  const TokenizedText text = characters_of("ab", "azb!");
  EXPECT_EQ(text.test, (Tokens{0, 2, 1, 2}));
  EXPECT_EQ(text.vocabulary, 3u);
}

TEST(Text, WordsAreNumberedAsTheyComeAndLinesHaveAnEnd) {
  const TokenizedText text = words_of("the cat \n\n\tsat the\n", "cat sat");
  EXPECT_EQ(text.train, (Tokens{0, 1, 2, 2, 3, 0, 2}));
  EXPECT_EQ(text.test, (Tokens{1, 3, 2}));
  EXPECT_EQ(text.vocabulary, 4u);
}

TEST(Text, UnknownWordsAreTheOneTheTextHasForThem) {
  const TokenizedText marked = words_of("a <unk> b\n", "a c d\n");
  EXPECT_EQ(marked.test, (Tokens{0, 1, 1, 3}));
  EXPECT_EQ(marked.vocabulary, 4u);
  const TokenizedText unmarked = words_of("a b\n", "a c d\n");
  EXPECT_EQ(unmarked.test, (Tokens{0, 3, 3, 2}));
  EXPECT_EQ(unmarked.vocabulary, 4u);
}

TEST(Text, ItsLastTenthBeginsWithACharacterALineOrAWord) {
  EXPECT_EQ(last_tenth("0123456789abcdefghij", false), 18u);
  const std::string start(89, 'x');
  EXPECT_EQ(last_tenth(start + " more\nlast", true), 95u);
  EXPECT_EQ(last_tenth(start + "more-words", true), 99u);  // nothing begins there
  EXPECT_EQ(last_tenth(start + "more and\n", true), 93u);
}

}  // namespace
}  // namespace gradwire::data
