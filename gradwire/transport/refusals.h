// Refusals: the connections that a rank has turned away. Value type.
#pragma once

#include <cstddef>
#include <string>

namespace gradwire {

struct Refusals {
  std::size_t count = 0;
  std::string reason = {};  // of the last one that has a reason

  // True for the first one that has a reason.
  bool add(const std::string& why) {
    ++count;
    if (why.empty()) return false;
    const bool is_first = reason.empty();
    reason = why;
    return is_first;
  }

  // For the end of a message: "", or " (2 connections were refused: the other end ...)".
  std::string in_words() const {
    if (count == 0) return "";
    return " (" + std::to_string(count) +
           (count == 1 ? " connection was refused" : " connections were refused") +
           (reason.empty() ? "" : ": " + reason) + ")";
  }
};

}  // namespace gradwire
