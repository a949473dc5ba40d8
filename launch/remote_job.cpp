#include "launch/remote_job.h"

#include <fmt/format.h>

#include <charconv>

namespace gradwire::launch {
namespace {

// "gradwire-job 00000123\n", and so many bytes behind it: texts that end with a zero byte.
constexpr std::string_view kMark = "gradwire-job ";
constexpr std::size_t kHeadBytes = kMark.size() + 9;
constexpr std::size_t kBytesMax = 99'999'999;

template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

std::optional<std::vector<std::string>> texts_of(std::string_view body) {
  std::vector<std::string> texts;
  while (!body.empty()) {
    const std::size_t end = body.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    texts.emplace_back(body.substr(0, end));
    body.remove_prefix(end + 1);
  }
  return texts;
}

std::optional<RemoteJob> job_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kFixed = 10;
  if (texts.size() < kFixed) return std::nullopt;
  RemoteJob job{.version = texts[0], .host = texts[1], .directory = texts[2]};
  WorkerPlace& place = job.place;
  place.master_host = texts[3];
  std::size_t variables = 0;
  const bool is_sound = parse(texts[4], place.master_port) && parse(texts[5], place.run_key) &&
                        parse(texts[6], place.rank) && parse(texts[7], place.size) &&
                        parse(texts[8], place.host_workers) && parse(texts[9], variables) &&
                        variables <= texts.size() - kFixed && place.host_workers > 0 &&
                        place.rank <= place.size && place.host_workers <= place.size - place.rank;
  if (!is_sound) return std::nullopt;
  const auto first = texts.begin() + kFixed;
  const auto middle = first + static_cast<std::ptrdiff_t>(variables);
  job.variables.assign(first, middle);
  job.arguments.assign(middle, texts.end());
  return job;
}

}  // namespace

std::string write_job(const RemoteJob& job) {
  std::string body;
  const auto add = [&](std::string_view text) { (body += text) += '\0'; };
  add(job.version);
  add(job.host);
  add(job.directory);
  add(job.place.master_host);
  for (const std::uint64_t number :
       {std::uint64_t{job.place.master_port}, job.place.run_key, std::uint64_t{job.place.rank},
        std::uint64_t{job.place.size}, std::uint64_t{job.place.host_workers},
        std::uint64_t{job.variables.size()}}) {
    add(std::to_string(number));
  }
  for (const std::string& variable : job.variables) add(variable);
  for (const std::string& argument : job.arguments) add(argument);
  return fmt::format("{}{:08}\n", kMark, body.size()) + body;
}

std::optional<RemoteJob> read_job(const std::function<bool(char*, std::size_t)>& read) {
  std::string head(kHeadBytes, '\0');
  std::size_t bytes = 0;
  if (!read(head.data(), head.size()) || !head.starts_with(kMark) || head.back() != '\n' ||
      !parse(std::string_view(head).substr(kMark.size(), 8), bytes) || bytes > kBytesMax) {
    return std::nullopt;
  }
  std::string body(bytes, '\0');
  if (!read(body.data(), body.size())) return std::nullopt;
  const auto texts = texts_of(body);
  return texts ? job_of(*texts) : std::nullopt;
}

}  // namespace gradwire::launch
