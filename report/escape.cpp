#include "report/escape.h"

#include "record/json_file.h"

namespace gradwire::report {

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string script_json(const record::Json& document) {
  const std::string text = document.dump(-1, ' ', false, record::Json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  // In JSON a '<' stands in strings only, and there this is the same character.
  for (const char c : text) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace gradwire::report
