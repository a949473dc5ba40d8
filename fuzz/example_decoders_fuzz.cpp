// The decoders of the registry's examples: a new codec is fuzzed without a line here. The first
// byte chooses one.
#include <memory>
#include <vector>

#include "fuzz/check_decoder.h"
#include "fuzz/target.h"

namespace gradwire::fuzz {
namespace {

std::vector<std::unique_ptr<const Codec>> make_examples() {
  std::vector<std::unique_ptr<const Codec>> codecs;
  for (const std::string& spec : example_codec_specs()) codecs.push_back(make_codec(spec));
  return codecs;
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  static const std::vector<std::unique_ptr<const Codec>> codecs = make_examples();
  static Workspace workspace;
  if (input.empty()) return;
  const auto choice = std::to_integer<std::size_t>(input.front());
  check_decoder(*codecs[choice % codecs.size()], input.subspan(1), workspace);
}

}  // namespace gradwire::fuzz
