#include "gradwire/transport/rank_info.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace gradwire {
namespace {

constexpr const char* kHello = "gradwire 2";

bool read_number(const std::string& text, std::size_t& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

// A rank may be anybody: its words are printed in messages.
bool is_printable(const std::string& text) {
  constexpr std::size_t kBytesMax = 256;
  return !text.empty() && text.size() <= kBytesMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

// Lines of text: what it is, size, streams, address, host.
std::vector<char> write_rank_info(const RankInfo& info) {
  const std::string text = std::string(kHello) + "\n" + std::to_string(info.size) + "\n" +
                           std::to_string(info.streams) + "\n" + info.address + "\n" + info.host +
                           "\n";
  return {text.begin(), text.end()};
}

std::optional<RankInfo> read_rank_info(const std::vector<char>& bytes) {
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::string first, size, streams;
  RankInfo info;
  std::getline(text, first);
  std::getline(text, size);
  std::getline(text, streams);
  std::getline(text, info.address);
  std::getline(text, info.host);
  if (!text || first != kHello || !read_number(size, info.size) ||
      !read_number(streams, info.streams) || !is_printable(info.address) ||
      !is_printable(info.host)) {
    return std::nullopt;
  }
  return info;
}

}  // namespace gradwire
