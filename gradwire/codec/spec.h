// The one grammar for codecs and methods, everywhere (command line, C++, Python, run records):
//
//   spec  := stage { "|" stage }
//   stage := name [ "(" arg { "," arg } ")" ]
//   arg   := value | key "=" value          value := number [ "%" ] | word | spec
//
// parse_spec gives the tree; who builds from it (make_codec, later make_method) reads the arguments
// through StageReader, which knows the position of everything for its errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct Spec;

// A value is a number (with or without a percent sign) or a spec; a lone word is a spec of one
// stage without arguments.
struct SpecArgument {
  std::string key;  // empty for a value without a key
  std::optional<double> number;
  bool percent = false;
  std::vector<struct SpecStage> stages;  // of a nested spec or word
  std::size_t position = 0;              // of the value
  std::size_t key_position = 0;
};

struct SpecStage {
  std::string name;
  std::vector<SpecArgument> arguments;
  std::size_t position = 0;
};

struct Spec {
  std::string text;
  std::vector<SpecStage> stages;
};

// Throws SpecError with the position and what was expected there.
Spec parse_spec(std::string_view text);

// An error that shows the text with a mark under the position:
//   what
//     topk(1%) | naturl
//                ^
[[noreturn]] void fail_at(std::string_view text, std::size_t position, std::string_view what);

// The name among `known` that is nearest to `given`, if one is near enough to be meant.
std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string>& known);

// Takes the arguments of one stage apart. Every accessor names one argument; finish() then refuses
// what nobody asked for, naming the nearest argument that exists.
class StageReader {
 public:
  StageReader(std::string_view text, const SpecStage& stage) : text_(text), stage_(stage) {}

  // A share of the whole, given as "1%" or "0.01", as key or as the first argument without a key;
  // in (0, 1].
  double share(std::string_view key);
  std::optional<double> number(std::string_view key, double least, double most);
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most);
  // One of the words allowed; the first is the default.
  std::string word(std::string_view key, const std::vector<std::string>& allowed);
  // "off" or a number.
  std::optional<double> number_or_off(std::string_view key, double otherwise, double least,
                                      double most);
  void finish();

  // For errors about the stage or one of its arguments.
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail_argument(std::string_view key, std::string_view what) const;

 private:
  const SpecArgument* find(std::string_view key, bool may_be_positional);

  std::string_view text_;
  const SpecStage& stage_;
  std::vector<std::string> asked_;
  std::vector<bool> used_ = std::vector<bool>(stage_.arguments.size(), false);
};

}  // namespace gradwire
