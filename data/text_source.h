// A source of text. Sample i is the tokens from i * context on, and the token behind each of them;
// with SourceOptions::augment a training sample begins up to a context later, by chance.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/source.h"
#include "data/text.h"

namespace gradwire::data {

// The tokens of a text whose last tenth is the test part, cut as the options say.
TokenizedText cut_text(std::string_view text, const SourceOptions& options);
// The same of two texts.
TokenizedText cut_texts(std::string_view train, std::string_view test,
                        const SourceOptions& options);

// Throws Error where a part is too short for one sample.
std::unique_ptr<Source> make_text_source(TokenizedText text, std::string name,
                                         const SourceOptions& options);

}  // namespace gradwire::data
