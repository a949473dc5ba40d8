#include "launch/line_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace gradwire::launch {
namespace {

constexpr std::size_t kLineBytesMax = 1 << 16;  // longer ones are cut

void write_all(int target, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(target, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

LineRelay::LineRelay(FileDescriptor source, int target, std::string label)
    : source_(std::move(source)), target_(target), label_(std::move(label)) {
  fcntl(source_.number(), F_SETFL, O_NONBLOCK);
}

void LineRelay::pass_on() {
  std::array<char, 1 << 14> bytes;
  while (source_.number() >= 0) {
    const auto count = read(source_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      source_.close();
      break;
    }
    text_.append(bytes.data(), static_cast<std::size_t>(count));
    if (text_.size() > kLineBytesMax) write_lines(text_.find('\n') == std::string::npos);
  }
  write_lines(source_.number() < 0);
}

void LineRelay::finish() {
  pass_on();
  write_lines(true);
}

void LineRelay::write_lines(bool is_end) {
  if (label_.empty()) {
    write_all(target_, text_);
    text_.clear();
    return;
  }
  std::string labelled;
  std::size_t begin = 0;
  for (std::size_t end = text_.find('\n'); end != std::string::npos;
       end = text_.find('\n', begin)) {
    labelled.append(label_).append(text_, begin, end + 1 - begin);
    begin = end + 1;
  }
  text_.erase(0, begin);
  if (is_end && !text_.empty()) {
    labelled.append(label_).append(text_).append("\n");
    text_.clear();
  }
  write_all(target_, labelled);
}

}  // namespace gradwire::launch
