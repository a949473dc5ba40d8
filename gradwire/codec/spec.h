// The one grammar for codecs and methods, everywhere (command line, C++, Python, run records):
//
//   spec  := stage { "|" stage }
//   stage := name [ "(" arg { "," arg } ")" ]
//   arg   := value | key "=" value | key "=" range
//   value := number [ "%" ] | word | spec   range := number ".." number
//
// Names, keys and words are [a-z][a-z0-9_]*; numbers are decimal, with or without an exponent;
// white space may stand between tokens. Values without a key come before those with one, and a key
// comes once. The text has at most kSpecBytesMax bytes and nests at most kSpecDepthMax deep, so
// that text from outside can neither exhaust memory nor the stack.
//
// parse_spec returns the tree. make_codec and parse_method read the arguments of a stage with a
// StageReader, whose errors show the position in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

inline constexpr std::size_t kSpecBytesMax = 4096;
inline constexpr std::size_t kSpecDepthMax = 32;

struct SpecStage;

struct SpecRange {
  double from = 0;
  double to = 0;

  bool operator==(const SpecRange&) const = default;
};

// A value is a number, a range or a spec; a lone word is a spec of one stage without arguments.
struct SpecArgument {
  std::string key;               // empty for a value without a key
  std::optional<double> number;  // "1%" and "0.01" are the same double
  bool percent = false;          // whether the number was written with "%"
  std::optional<SpecRange> range = {};
  std::vector<SpecStage> stages;  // of a nested spec or word
  std::size_t position = 0;       // of the value
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

// The text of an argument's value.
std::string_view value_text(std::string_view text, const SpecArgument& argument);

// Throws a SpecError that shows the text with a mark under the position:
//   there is no codec called 'naturl'; did you mean 'natural'?
//     topk(1%) | naturl
//                ^
[[noreturn]] void fail_at(std::string_view text, std::size_t position, std::string_view what);

// The name among `known` that is nearest to `given`, if one is near enough to be meant.
std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string>& known);

// How canonical specs write numbers: the shortest text that parses to the same double again.
// format_number(0.01) is "0.01"; format_share(0.01) is "1%", for shares in (0, 1].
std::string format_number(double number);
std::string format_share(double share);
std::string format_range(const SpecRange& range);

// Reads the arguments of one stage. Each accessor reads one argument; finish() then refuses
// arguments that were not read, and names the nearest one that exists. Mistakes in the text throw
// SpecError. The text and the stage must outlive the reader.
class StageReader {
 public:
  StageReader(std::string_view text, const SpecStage& stage) : text_(text), stage_(stage) {}

  // A share in (0, 1], such as "1%" or "0.01", with the key or as the first argument without one.
  // Required.
  double share(std::string_view key);
  // A number in [least, most], with the key or as the first argument without one.
  std::optional<double> number(std::string_view key, double least, double most);
  // A whole number in [least, most], neither bound beyond 2^53.
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most);
  // One of the words allowed; the first is the default.
  std::string word(std::string_view key, const std::vector<std::string>& allowed);
  // A number in [least, most], or nothing for "off".
  std::optional<double> number_or_off(std::string_view key, double otherwise, double least,
                                      double most);
  // A number in [least, most], or nothing for "auto", the default.
  std::optional<double> number_or_auto(std::string_view key, double least, double most);
  // The number with that key.
  double keyed_number(std::string_view key, double otherwise, double least, double most);
  // Two numbers in [least, most] with that key, such as 0.1..10, of which the second is not
  // smaller.
  SpecRange range(std::string_view key, SpecRange otherwise, double least, double most);
  // A nested spec, with the key or as the first argument without one; null if there is none. The
  // example appears in the error if a number was given instead.
  const SpecArgument* nested_or_first(std::string_view key, std::string_view example = "natural");
  const SpecArgument* nested(std::string_view key);
  void finish();

  // For errors about the stage or one of its arguments.
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail_argument(std::string_view key, std::string_view what) const;

 private:
  enum class Form { keyed, keyed_or_first };

  // The argument, which is then marked as read; null if it was not given.
  const SpecArgument* find(std::string_view key, Form form);
  bool is_word(const SpecArgument& argument, std::string_view word) const;
  const SpecArgument* check_nested(const SpecArgument* argument, std::string_view key,
                                   std::string_view example) const;
  double number_within(const SpecArgument& argument, std::string_view key, double least,
                       double most) const;

  std::string_view text_;
  const SpecStage& stage_;
  std::vector<std::string> asked_;
  // For each argument the key that it was read with; empty until then.
  std::vector<std::string> taken_as_ = std::vector<std::string>(stage_.arguments.size());
};

}  // namespace gradwire
