// Specs: any text is a spec or refused at a position. A codec that comes out has a canonical spec,
// and keeps its promises whatever its options are.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/round_trip.h"
#include "fuzz/target.h"
#include "gradwire/codec/codec.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"

namespace gradwire::fuzz {
namespace {

// What making throws about the text becomes nothing; what else it throws is a bug.
template <class Make>
auto made_or_refused(std::string_view text, const Make& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const SpecError& error) {
    GW_CHECK(error.position() <= text.size());
    GW_CHECK(!std::string_view(error.what()).empty());
    return std::nullopt;
  }
}

void check_guarantee(const Codec& codec, std::size_t elements) {
  const Guarantee guarantee = codec.guarantee(elements);
  switch (guarantee.kind) {
    case Guarantee::Kind::unbiased:
      GW_CHECK(guarantee.constant >= 0 && std::isfinite(guarantee.constant));
      return;
    case Guarantee::Kind::contractive:
      GW_CHECK(guarantee.constant > 0 && guarantee.constant <= 1);
      return;
    case Guarantee::Kind::none:
      GW_CHECK(!guarantee.reason.empty());
      return;
  }
}

std::vector<float> some_tensor() {
  std::vector<float> tensor(300);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    tensor[i] = static_cast<float>(std::ldexp(std::sin(static_cast<double>(i)), -int(i % 40)));
  }
  tensor[7] = 0;
  tensor[8] = std::numeric_limits<float>::max();
  tensor[9] = std::numeric_limits<float>::denorm_min();
  return tensor;
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto spec = made_or_refused(text, [&] { return parse_spec(text); });
  GW_CHECK(!spec || (spec->text == text && !spec->stages.empty()));

  const auto codec = made_or_refused(text, [&] { return make_codec(text); });
  if (!codec) return;
  GW_CHECK(spec);
  GW_CHECK(make_codec((*codec)->spec())->spec() == (*codec)->spec());
  constexpr std::size_t kLengths[] = {0, 1, 1000, 1 << 24};
  for (const std::size_t elements : kLengths) check_guarantee(**codec, elements);
  static const std::vector<float> tensor = some_tensor();
  check_round_trip(**codec, tensor, input.size());
}

}  // namespace gradwire::fuzz
