// What a rank says of itself: it is written back to what means the same, and can be printed; or it
// is refused.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/rank_info.h"

namespace gradwire::fuzz {

void test_input(std::span<const std::byte> input) {
  const auto* const text = reinterpret_cast<const char*>(input.data());
  const auto info = read_rank_info(std::vector<char>(text, text + input.size()));
  if (!info) return;
  for (const std::string& words : {info->address, info->host}) {
    GW_CHECK(words.size() <= 256);
    GW_CHECK(std::ranges::all_of(words, [](char c) { return c > ' ' && c <= '~'; }));
  }
  const auto again = read_rank_info(write_rank_info(*info));
  GW_CHECK(again && again->size == info->size && again->streams == info->streams &&
           again->address == info->address && again->host == info->host);
}

}  // namespace gradwire::fuzz
