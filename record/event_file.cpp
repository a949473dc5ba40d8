#include "record/event_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <string_view>

#include "gradwire/file/file_failure.h"
#include "record/crc32c.h"

namespace gradwire::record {
namespace {

// --- Protocol Buffers: a field is a key (number and wire type) and a value ---

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <class Bits>
std::string little_endian(Bits bits) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(Bits); ++i) text += static_cast<char>(bits >> (8 * i) & 0xFF);
  return text;
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7F) | 0x80);
  return text + static_cast<char>(value);
}

std::string key(std::uint64_t field, WireType type) {
  return varint(field << 3 | static_cast<std::uint64_t>(type));
}

std::string field_of(std::uint64_t field, std::uint64_t value) {
  return key(field, WireType::varint) + varint(value);
}

std::string field_of(std::uint64_t field, double value) {
  return key(field, WireType::fixed64) + little_endian(std::bit_cast<std::uint64_t>(value));
}

std::string field_of(std::uint64_t field, float value) {
  return key(field, WireType::fixed32) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string field_of(std::uint64_t field, std::string_view bytes) {
  return key(field, WireType::bytes) + varint(bytes.size()) + std::string(bytes);
}

// --- Events ---

constexpr std::string_view kFileVersion = "brain.Event:2";
constexpr std::uint64_t kSessionStart = 1;

double seconds_since_1970() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

std::string event_begin(std::uint64_t step) {
  return field_of(1, seconds_since_1970()) + field_of(2, step);
}

std::uint32_t masked_checksum(std::string_view bytes) {
  return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xA282EAD8;
}

// A name that no other file has. TensorBoard reads files in the order of their names, so the time
// comes first.
std::string file_name() {
  static std::atomic<unsigned> files = 0;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::string seconds = std::to_string(static_cast<std::uint64_t>(seconds_since_1970()));
  if (seconds.size() < 10) seconds.insert(0, 10 - seconds.size(), '0');
  return "events.out.tfevents." + seconds + '.' + host.data() + '.' + std::to_string(getpid()) +
         '.' + std::to_string(files++);
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& directory, std::uint64_t first_step) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) fail_file(directory, "cannot be created: " + failure.message());
  path_ = directory / file_name();
  file_.open(path_, std::ios::binary | std::ios::trunc);
  if (!file_) fail_errno(path_, "cannot be written");
  write(event_begin(0) + field_of(3, kFileVersion));
  write(event_begin(first_step) + field_of(7, field_of(1, kSessionStart)));
  flush();
}

void EventFile::add(std::uint64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    const std::string value =
        field_of(1, scalar.tag) + field_of(2, static_cast<float>(scalar.value));
    summary += field_of(1, value);
  }
  write(event_begin(step) + field_of(5, summary));
}

void EventFile::flush() {
  file_.flush();
  if (!file_) fail_errno(path_, "cannot be written");
}

void EventFile::write(const std::string& event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  file_ << length << little_endian(masked_checksum(length)) << event
        << little_endian(masked_checksum(event));
}

}  // namespace gradwire::record
