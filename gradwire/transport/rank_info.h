// What a rank says of itself in the start store, as lines of text. Whoever reads it does not know
// yet who wrote it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

struct RankInfo {
  std::size_t size = 0;  // how many ranks it thinks there are
  std::size_t streams = 0;
  std::string address;  // where it listens, without a port
  std::string host;
};

std::vector<char> write_rank_info(const RankInfo& info);

// Nothing for bytes of another version, and for what should not be printed in messages.
std::optional<RankInfo> read_rank_info(const std::vector<char>& bytes);

}  // namespace gradwire
