// The errors that gradwire throws: external failures (files, peers) and mistakes of the caller. The
// message says what happened, where, and what to do. Decoding of foreign bytes does not throw: see
// expected.h.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace gradwire {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file cannot be read, written or understood.
class FileError : public Error {
 public:
  using Error::Error;
};

// A spec such as "topk(1%) | natural" cannot be understood or does not make sense.
class SpecError : public Error {
 public:
  SpecError(std::string message, std::size_t position)
      : Error(std::move(message)), position_(position) {}

  // Byte offset into the spec's text at which the problem was found.
  std::size_t position() const { return position_; }

 private:
  std::size_t position_;
};

}  // namespace gradwire
