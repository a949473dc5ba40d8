// EventFile: numbers over the steps of a run, in the format that TensorBoard reads. For one thread
// at a time.
//
// An event file is a sequence of records (TensorFlow's TFRecord):
//
//   length     8 bytes   little-endian, of the data
//   checksum   4 bytes   of the length: crc32c, rotated right by 15 bits, plus 0xA282EAD8
//   data                 an Event
//   checksum   4 bytes   of the data
//
// An Event is a message of Protocol Buffers. We write these of its fields:
//
//   1 double wall_time
//   2 int64 step
//   3 string file_version          "brain.Event:2", in the first event of a file
//   5 Summary summary              1 repeated Value: 1 string tag, 2 float simple_value
//   7 SessionLog session_log       1 Status: START
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace gradwire::record {

// A number with its name in TensorBoard.
struct Scalar {
  std::string tag;
  double value = 0;

  bool operator==(const Scalar&) const = default;
};

// All members throw FileError.
class EventFile {
 public:
  // Makes the directory, and a new file in it. The directory may hold files of earlier runs:
  // TensorBoard hides their events from `first_step` on.
  EventFile(const std::filesystem::path& directory, std::uint64_t first_step);

  void add(std::uint64_t step, std::span<const Scalar> scalars);

  // When it returns, the operating system has the events.
  void flush();

 private:
  void write(const std::string& event);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace gradwire::record
