#include "advise/recommended.h"

namespace gradwire::advise {
namespace {

constexpr Recommended kRecommended[] = {
    {.optimiser = "SGD", .method = "ef(topk(1%) | natural)", .fewer_bytes = ""},
    {.optimiser = "AdamW", .method = "natural | entropy", .fewer_bytes = "adam(sign)"},
};

}  // namespace

std::span<const Recommended> recommended() { return kRecommended; }

std::string recommendation_text(const Recommended& each) {
  std::string text = std::string("With ") + each.optimiser + ", use `" + each.method + "`";
  if (*each.fewer_bytes != '\0') {
    text += std::string(", or `") + each.fewer_bytes + "` for fewer bytes";
  }
  return text + '.';
}

std::string recommendation_text() {
  std::string text;
  for (const Recommended& each : kRecommended) {
    text += (text.empty() ? "" : " ") + recommendation_text(each);
  }
  return text;
}

}  // namespace gradwire::advise
