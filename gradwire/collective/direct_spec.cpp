#include "gradwire/collective/direct_spec.h"

#include <ranges>
#include <vector>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"

namespace gradwire {
namespace {

constexpr std::string_view kDirect = "direct";
constexpr std::string_view kDown = "down";

// Where the value that starts at `begin` ends: at the comma or bracket that is not its own. The
// text is known to follow the grammar.
std::size_t value_end(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (depth == 0 && (text[i] == ',' || text[i] == ')')) return i;
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
  }
  return text.size();
}

// The codec that an argument names. It is read from a text with nothing but space before it, so
// that positions in its errors are those in the whole text, which is what the error then shows.
std::shared_ptr<const Codec> make_nested_codec(std::string_view text,
                                               const SpecArgument& argument) {
  if (argument.stages.empty()) {
    fail_at(text, argument.position, "expected a codec, such as 'natural', found a number");
  }
  const std::size_t begin = argument.position;
  const std::string nested =
      std::string(begin, ' ') + std::string(text.substr(begin, value_end(text, begin) - begin));
  try {
    return make_codec(nested);
  } catch (const SpecError& error) {
    const std::string_view message = error.what();
    fail_at(text, error.position(), message.substr(0, message.find('\n')));
  }
}

[[noreturn]] void fail_key(std::string_view text, const SpecArgument& argument) {
  const auto nearest = nearest_name(argument.key, {std::string(kDown)});
  fail_at(text, argument.key_position,
          "'direct' takes a codec and 'down', not '" + argument.key + "'" +
              (nearest ? "; did you mean '" + *nearest + "'?" : ""));
}

DirectSpec read_direct(std::string_view text, const SpecStage& stage) {
  const std::vector<SpecArgument>& arguments = stage.arguments;
  if (arguments.empty() || arguments.front().key == kDown) {
    fail_at(text, stage.position, "'direct' needs a codec, as in 'direct(natural)'");
  }
  if (!arguments.front().key.empty()) fail_key(text, arguments.front());
  DirectSpec spec;
  spec.up = make_nested_codec(text, arguments.front());
  for (const SpecArgument& argument : arguments | std::views::drop(1)) {
    if (argument.key.empty()) {
      fail_at(text, argument.position, "'direct' takes one codec; that of the way down is 'down='");
    }
    if (argument.key != kDown) fail_key(text, argument);
    spec.down = make_nested_codec(text, argument);
  }
  spec.text = "direct(" + spec.up->spec() + (spec.down ? ", down=" + spec.down->spec() : "") + ")";
  return spec;
}

}  // namespace

DirectSpec parse_direct_spec(std::string_view text) {
  const Spec spec = parse_spec(text);
  for (const SpecStage& stage : spec.stages) {
    if (stage.name != kDirect) continue;
    if (spec.stages.size() == 1) return read_direct(text, stage);
    fail_at(text, stage.position,
            "'direct' goes around a whole pipe, as in 'direct(topk(1%) | natural)'");
  }
  DirectSpec bare;
  bare.up = make_codec(text);
  bare.text = bare.up->spec();
  return bare;
}

}  // namespace gradwire
