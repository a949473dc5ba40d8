#include "watch/remote.h"

#include <httplib.h>

#include <utility>

#include "gradwire/core/error.h"
#include "record/fields.h"

namespace gradwire::watch {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;
constexpr time_t kSecondsMax = 5;

Remote::Answer answer_in(const std::string& text) {
  const record::Json json = record::Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error("the answer is not JSON");
  Remote::Answer answer{.runs = {}, .hint = record::field<std::string>(json, "hint")};
  for (const record::Json& run : record::field<record::Json>(json, "runs")) {
    answer.runs.push_back(state_from(run));
  }
  return answer;
}

}  // namespace

Remote::Remote(std::string host, std::uint16_t port, std::string token)
    : host_(std::move(host)), port_(port), token_(std::move(token)) {}

Remote::Answer Remote::ask() const {
  const std::string where = host_ + ":" + std::to_string(port_);
  httplib::Client client(host_, port_);
  client.set_connection_timeout(kSecondsMax);
  client.set_read_timeout(kSecondsMax);
  client.set_write_timeout(kSecondsMax);
  httplib::Headers headers;
  if (!token_.empty()) headers.emplace("Authorization", "Bearer " + token_);
  std::string text;
  const auto result = client.Get("/state", headers, [&](const char* data, std::size_t size) {
    text.append(data, size);
    return text.size() <= kBytesMax;
  });
  if (!result) {
    throw Error(where + " does not answer (" + httplib::to_string(result.error()) +
                "): is gradwire watch running there, with --listen?");
  }
  if (result->status == 401) {
    throw Error(where + (token_.empty() ? " needs a token: give --token-file"
                                        : " refuses the token of --token-file"));
  }
  if (result->status == 403) {
    throw Error(where + " answers its own machine alone: start it with --token-file");
  }
  try {
    if (result->status != 200) throw Error("HTTP status " + std::to_string(result->status));
    return answer_in(text);
  } catch (const std::exception& error) {
    throw Error(where + " does not answer as gradwire watch does: " + error.what());
  }
}

}  // namespace gradwire::watch
