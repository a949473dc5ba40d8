#include "gradwire/codec/spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <system_error>

#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

// Not <cctype>: what those functions answer depends on the locale.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_lower(char c) { return 'a' <= c && c <= 'z'; }
bool is_upper(char c) { return 'A' <= c && c <= 'Z'; }
bool is_name_part(char c) { return is_lower(c) || is_digit(c) || c == '_'; }
bool is_printable(char c) { return ' ' <= c && c <= '~'; }

std::string quoted(std::string_view text) { return '\'' + std::string(text) + '\''; }

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + quoted(name);
  return list;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = nearest_name(given, known);
  return nearest ? "; did you mean " + quoted(*nearest) + "?" : "";
}

// The part of the text around the position that fits a line, one column a byte.
struct Excerpt {
  std::string shown;
  std::size_t column;
};

Excerpt excerpt(std::string_view text, std::size_t position) {
  constexpr std::size_t kBytesBefore = 60;
  constexpr std::size_t kBytesAfter = 30;
  constexpr std::string_view kCut = "...";

  const std::size_t begin = position > kBytesBefore ? position - kBytesBefore : 0;
  const std::size_t end = std::min(text.size(), position + kBytesAfter);
  std::string shown(begin > 0 ? kCut : "");
  const std::size_t column = shown.size() + position - begin;
  for (const char c : text.substr(begin, end - begin)) {
    shown += is_printable(c) ? c : is_space(c) ? ' ' : '?';
  }
  if (end < text.size()) shown += kCut;
  return {shown, column};
}

// A number's text as significand and power of ten, so that '%' shifts the power and rounds nothing.
struct Decimal {
  std::string significand;
  int exponent = 0;

  std::optional<double> value() const {
    const std::string text = significand + 'e' + std::to_string(exponent);
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number + 0.0;  // "-0" is 0
  }
};

// Digits with at most one point, perhaps a minus before and an exponent behind.
std::optional<Decimal> parse_decimal(std::string_view token) {
  const std::size_t e = std::min(token.find_first_of("eE"), token.size());
  const std::string_view significand = token.substr(0, e);
  const std::string_view unsigned_part = significand.substr(significand.starts_with('-') ? 1 : 0);
  const auto digits = std::count_if(unsigned_part.begin(), unsigned_part.end(), is_digit);
  const auto points = std::count(unsigned_part.begin(), unsigned_part.end(), '.');
  if (digits == 0 || points > 1) return std::nullopt;
  if (static_cast<std::size_t>(digits + points) != unsigned_part.size()) return std::nullopt;

  Decimal decimal{.significand = std::string(significand)};
  if (e == token.size()) return decimal;
  std::string_view power = token.substr(e + 1);
  if (power.starts_with('+')) {
    power.remove_prefix(1);
    if (power.starts_with('-')) return std::nullopt;
  }
  const char* const end = power.data() + power.size();
  const auto [rest, error] = std::from_chars(power.data(), end, decimal.exponent);
  // Far beyond any double, and still far from where the shift by "%" could overflow.
  constexpr int kExponentMax = 100'000;
  if (error != std::errc() || rest != end || std::abs(decimal.exponent) > kExponentMax) {
    return std::nullopt;
  }
  return decimal;
}

// Recursive descent, one function a rule of the grammar.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<SpecStage> whole() {
    std::vector<SpecStage> stages = pipe(1);
    if (position_ < text_.size()) expected("'|' or the end");
    return stages;
  }

 private:
  std::vector<SpecStage> pipe(std::size_t depth) {
    std::vector<SpecStage> stages;
    do {
      stages.push_back(stage(depth));
    } while (take('|'));
    return stages;
  }

  SpecStage stage(std::size_t depth) {
    SpecStage stage;
    stage.name = name(&stage.position);
    const std::size_t open = position_;
    if (!take('(')) return stage;
    if (depth == kSpecDepthMax) {
      fail_at(text_, open, "specs nest at most " + std::to_string(kSpecDepthMax) + " deep");
    }
    do {
      stage.arguments.push_back(argument(stage.arguments, depth));
    } while (take(','));
    if (!take(')')) expected("',' or ')'");
    return stage;
  }

  SpecArgument argument(const std::vector<SpecArgument>& before, std::size_t depth) {
    SpecArgument argument = take_key();
    skip_space();
    argument.position = position_;
    if (!at_number() && !at_name()) expected("a value (a number, a word or a spec)");
    check_place(argument, before);
    if (at_number()) {
      number(argument);
    } else {
      argument.stages = pipe(depth + 1);
    }
    return argument;
  }

  // The key and its "=", or an argument without a key if that is not what stands here.
  SpecArgument take_key() {
    SpecArgument argument;
    skip_space();
    if (!at_name()) return argument;
    const std::size_t start = position_;
    std::string key = name(&argument.key_position);
    if (take('=')) {
      argument.key = std::move(key);
    } else {
      position_ = start;
    }
    return argument;
  }

  void check_place(const SpecArgument& argument, const std::vector<SpecArgument>& before) const {
    if (argument.key.empty()) {
      if (before.empty() || before.back().key.empty()) return;
      fail_at(text_, argument.position, "a value without a key must come before those with one");
    }
    for (const SpecArgument& other : before) {
      if (other.key != argument.key) continue;
      fail_at(text_, argument.key_position, quoted(argument.key) + " is given twice");
    }
  }

  void number(SpecArgument& argument) {
    const std::string_view token = number_token();
    // Only behind a key: without one it is a mistake in a number.
    const std::size_t dots = argument.key.empty() ? token.npos : token.find("..");
    if (dots != token.npos) {
      const auto from = parse_decimal(token.substr(0, dots));
      const auto to = parse_decimal(token.substr(dots + 2));
      if (from && to && from->value() && to->value()) {
        argument.range = SpecRange{*from->value(), *to->value()};
        return;
      }
    }
    argument.percent = take('%');
    std::optional<Decimal> decimal = parse_decimal(token);
    if (decimal && argument.percent) decimal->exponent -= 2;
    if (decimal) argument.number = decimal->value();
    if (!argument.number) {
      fail_at(text_, argument.position, "expected a decimal number such as 4, 0.01 or 1e-3");
    }
  }

  // Everything that could be meant as part of the number, so that "0x10" or "1..2" is one mistake.
  std::string_view number_token() {
    const std::size_t start = position_;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      const char before = position_ > start ? text_[position_ - 1] : 'e';
      const bool sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
      if (!sign && !is_name_part(c) && !is_upper(c) && c != '.') break;
    }
    return text_.substr(start, position_ - start);
  }

  std::string name(std::size_t* start) {
    skip_space();
    if (!at_name()) expected("a name (lower-case letters, digits and '_')");
    *start = position_;
    while (position_ < text_.size() && is_name_part(text_[position_])) ++position_;
    return std::string(text_.substr(*start, position_ - *start));
  }

  bool at_name() const { return position_ < text_.size() && is_lower(text_[position_]); }

  bool at_number() const {
    if (position_ == text_.size()) return false;
    const char c = text_[position_];
    return is_digit(c) || c == '-' || c == '+' || c == '.';
  }

  bool take(char c) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void skip_space() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  }

  [[noreturn]] void expected(std::string_view what) {
    skip_space();
    std::string found = "the end";
    if (position_ < text_.size()) {
      const char c = text_[position_];
      found = is_printable(c) ? quoted({&c, 1}) : "a byte that is not printable ASCII";
    }
    fail_at(text_, position_, "expected " + std::string(what) + ", found " + found);
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

// The fewest insertions, deletions, replacements and swaps of neighbours from one name to the
// other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string range_text(double least, double most) {
  const std::string from = format_number(least);
  return std::isinf(most) ? "of at least " + from : "from " + from + " to " + format_number(most);
}

}  // namespace

Spec parse_spec(std::string_view text) {
  if (text.size() > kSpecBytesMax) {
    fail_at(text, kSpecBytesMax, "a spec has at most " + std::to_string(kSpecBytesMax) + " bytes");
  }
  return {.text = std::string(text), .stages = Parser(text).whole()};
}

std::string_view value_text(std::string_view text, const SpecArgument& argument) {
  const std::string_view value = text.substr(argument.position);
  std::size_t depth = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (depth == 0 && (value[i] == ',' || value[i] == ')')) return value.substr(0, i);
    if (value[i] == '(') ++depth;
    if (value[i] == ')') --depth;
  }
  return value;
}

void fail_at(std::string_view text, std::size_t position, std::string_view what) {
  position = std::min(position, text.size());
  const auto [shown, column] = excerpt(text, position);
  throw SpecError(std::string(what) + "\n  " + shown + "\n  " + std::string(column, ' ') + '^',
                  position);
}

std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string>& known) {
  const std::size_t near_max = std::max<std::size_t>(1, given.size() / 3);
  std::optional<std::string> nearest;
  std::size_t nearest_distance = std::min(near_max + 1, given.size());
  for (const std::string& name : known) {
    if (name.size() > given.size() + near_max || given.size() > name.size() + near_max) continue;
    const std::size_t distance = edit_distance(given, name);
    if (distance < nearest_distance) {
      nearest = name;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string format_number(double number) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  GW_CHECK(error == std::errc());
  return {text.data(), end};
}

std::string format_range(const SpecRange& range) {
  return format_number(range.from) + ".." + format_number(range.to);
}

std::string format_share(double share) {
  if (!(0 < share && share <= 1)) throw Error("a share must be above 0 and at most 1");
  // As "d.ddde-XX": the digits stay, and the power of ten grows by 2.
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), share,
                                          std::chars_format::scientific);
  GW_CHECK(error == std::errc());
  const Decimal decimal = *parse_decimal({buffer.data(), end});
  const int exponent = decimal.exponent + 2;
  constexpr int kPlainExponentMin = -6;
  if (exponent < kPlainExponentMin) {
    return decimal.significand + 'e' + std::to_string(exponent) + '%';
  }
  std::string digits = decimal.significand;
  std::erase(digits, '.');
  if (exponent < 0) {
    return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits + '%';
  }
  const std::size_t whole_digits = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole_digits) {
    return digits + std::string(whole_digits - digits.size(), '0') + '%';
  }
  return digits.insert(whole_digits, ".") + '%';
}

double StageReader::share(std::string_view key) {
  const SpecArgument* argument = find(key, Form::keyed_or_first);
  if (argument == nullptr) {
    fail(quoted(stage_.name) + " needs its " + std::string(key) + ", as in '" + stage_.name +
         "(1%)'");
  }
  const double share = argument->number.value_or(0);
  if (!(0 < share && share <= 1)) {
    fail_argument(key, quoted(key) + " must be above 0 and at most 1, such as 1% or 0.01");
  }
  return share;
}

std::optional<double> StageReader::number(std::string_view key, double least, double most) {
  const SpecArgument* argument = find(key, Form::keyed_or_first);
  if (argument == nullptr) return std::nullopt;
  return number_within(*argument, key, least, most);
}

std::int64_t StageReader::integer(std::string_view key, std::int64_t otherwise, std::int64_t least,
                                  std::int64_t most) {
  constexpr std::int64_t kDoubleExactMax = std::int64_t{1} << 53;
  if (least < -kDoubleExactMax || most > kDoubleExactMax) {
    throw Error("the bounds of a whole number in a spec must be within 2^53");
  }
  const SpecArgument* argument = find(key, Form::keyed);
  if (argument == nullptr) return otherwise;
  const double number = argument->number.value_or(0.5);
  const bool whole = number == std::floor(number) && !argument->percent;
  if (!whole || number < static_cast<double>(least) || number > static_cast<double>(most)) {
    fail_argument(key, quoted(key) + " must be a whole number from " + std::to_string(least) +
                           " to " + std::to_string(most));
  }
  return static_cast<std::int64_t>(number);
}

std::string StageReader::word(std::string_view key, const std::vector<std::string>& allowed) {
  if (allowed.empty()) throw Error("a word in a spec needs at least one allowed word");
  const SpecArgument* argument = find(key, Form::keyed);
  if (argument == nullptr) return allowed.front();
  const bool is_word = argument->stages.size() == 1 && argument->stages.front().arguments.empty();
  const std::string given = is_word ? argument->stages.front().name : "";
  if (std::find(allowed.begin(), allowed.end(), given) == allowed.end()) {
    const std::string choices =
        allowed.size() == 1 ? quoted(allowed.front()) : "one of " + quoted_list(allowed);
    fail_argument(key, quoted(key) + " must be " + choices + did_you_mean(given, allowed));
  }
  return given;
}

std::optional<double> StageReader::number_or_off(std::string_view key, double otherwise,
                                                 double least, double most) {
  const SpecArgument* argument = find(key, Form::keyed);
  if (argument == nullptr) return otherwise;
  if (argument->number) return number_within(*argument, key, least, most);
  if (!is_word(*argument, "off")) {
    fail_argument(key, quoted(key) + " must be 'off' or a number " + range_text(least, most));
  }
  return std::nullopt;
}

std::optional<double> StageReader::number_or_auto(std::string_view key, double least, double most) {
  const SpecArgument* argument = find(key, Form::keyed);
  if (argument == nullptr || is_word(*argument, "auto")) return std::nullopt;
  if (argument->number) return number_within(*argument, key, least, most);
  fail_argument(key, quoted(key) + " must be 'auto' or a number " + range_text(least, most));
}

double StageReader::keyed_number(std::string_view key, double otherwise, double least,
                                 double most) {
  const SpecArgument* argument = find(key, Form::keyed);
  return argument == nullptr ? otherwise : number_within(*argument, key, least, most);
}

SpecRange StageReader::range(std::string_view key, SpecRange otherwise, double least, double most) {
  const SpecArgument* argument = find(key, Form::keyed);
  if (argument == nullptr) return otherwise;
  const bool is_good = argument->range && least <= argument->range->from &&
                       argument->range->from <= argument->range->to && argument->range->to <= most;
  if (!is_good) {
    fail_argument(key, quoted(key) + " must be two numbers " + range_text(least, most) +
                           ", such as " + format_range(otherwise));
  }
  return *argument->range;
}

const SpecArgument* StageReader::nested_or_first(std::string_view key, std::string_view example) {
  return check_nested(find(key, Form::keyed_or_first), key, example);
}

const SpecArgument* StageReader::nested(std::string_view key) {
  return check_nested(find(key, Form::keyed), key, "natural");
}

const SpecArgument* StageReader::check_nested(const SpecArgument* argument, std::string_view key,
                                              std::string_view example) const {
  if (argument != nullptr && argument->stages.empty()) {
    const bool has_vowel = std::string_view("aeiou").find(key.front()) != std::string_view::npos;
    fail_argument(key, (has_vowel ? "expected an " : "expected a ") + std::string(key) +
                           ", such as '" + std::string(example) + "', found a number");
  }
  return argument;
}

bool StageReader::is_word(const SpecArgument& argument, std::string_view word) const {
  return argument.stages.size() == 1 && argument.stages.front().name == word &&
         argument.stages.front().arguments.empty();
}

void StageReader::finish() {
  for (std::size_t i = 0; i < taken_as_.size(); ++i) {
    if (!taken_as_[i].empty()) continue;
    const SpecArgument& argument = stage_.arguments[i];
    const std::size_t position = argument.key.empty() ? argument.position : argument.key_position;
    if (asked_.empty()) fail_at(text_, position, quoted(stage_.name) + " takes no arguments");
    const std::string takes = quoted(stage_.name) + " takes " + quoted_list(asked_);
    if (std::find(asked_.begin(), asked_.end(), argument.key) != asked_.end()) {
      fail_at(text_, position, quoted(argument.key) + " is given twice");
    }
    if (argument.key.empty()) {
      fail_at(text_, position, "this value needs a key, as in 'key=value'; " + takes);
    }
    fail_at(text_, position,
            takes + ", not " + quoted(argument.key) + did_you_mean(argument.key, asked_));
  }
}

void StageReader::fail(std::string_view what) const { fail_at(text_, stage_.position, what); }

void StageReader::fail_argument(std::string_view key, std::string_view what) const {
  for (std::size_t i = 0; i < taken_as_.size(); ++i) {
    if (taken_as_[i] == key) fail_at(text_, stage_.arguments[i].position, what);
  }
  fail(what);
}

const SpecArgument* StageReader::find(std::string_view key, Form form) {
  asked_.emplace_back(key);
  const std::vector<SpecArgument>& arguments = stage_.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool first_without_key =
        form == Form::keyed_or_first && i == 0 && arguments[i].key.empty();
    if (taken_as_[i].empty() && (arguments[i].key == key || first_without_key)) {
      taken_as_[i] = key;
      return &arguments[i];
    }
  }
  return nullptr;
}

double StageReader::number_within(const SpecArgument& argument, std::string_view key, double least,
                                  double most) const {
  if (!argument.number || !(least <= *argument.number && *argument.number <= most)) {
    fail_argument(key, quoted(key) + " must be a number " + range_text(least, most));
  }
  return *argument.number;
}

}  // namespace gradwire
