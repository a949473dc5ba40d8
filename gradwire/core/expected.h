// Expected<T, E>: a value, or the reason why there is none. Functions that decode bytes from
// outside return it. Hot paths use it, so neither the value nor the reason allocates by itself.
// Taking a value that is not there throws Error, as does taking the error of a value.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "gradwire/core/error.h"

namespace gradwire {

template <class E>
struct Unexpected {
  E error;
};

template <class E>
Unexpected(E) -> Unexpected<E>;

// Why bytes were refused, and where. `what` is a string literal.
struct DecodeError {
  const char* what = "";
  std::size_t byte_offset = 0;
};

namespace expected_failure {

template <class E>
[[noreturn]] void no_value(const E&) {
  throw Error("an Expected has an error instead of a value: ask has_value() first");
}
[[noreturn]] inline void no_value(const DecodeError& error) {
  throw Error("the bytes were refused at byte " + std::to_string(error.byte_offset) + ": " +
              error.what + " (ask has_value() before value())");
}
[[noreturn]] inline void no_error() { throw Error("an Expected with a value has no error()"); }

}  // namespace expected_failure

template <class T, class E>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Unexpected<E> unexpected)
      : state_(std::in_place_index<1>, std::move(unexpected.error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() {
    if (!has_value()) expected_failure::no_value(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    if (!has_value()) expected_failure::no_value(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const E& error() const {
    if (has_value()) expected_failure::no_error();
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Expected<void, E> {
 public:
  Expected() = default;
  Expected(Unexpected<E> unexpected) : failed_(true), error_(std::move(unexpected.error)) {}

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }

  const E& error() const {
    if (!failed_) expected_failure::no_error();
    return error_;
  }

 private:
  bool failed_ = false;
  E error_{};
};

template <class T>
using Decoded = Expected<T, DecodeError>;

}  // namespace gradwire
