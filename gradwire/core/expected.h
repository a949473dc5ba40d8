// Expected<T, E>: a value, or the reason why there is none. What decoding bytes from outside
// returns. Hot paths return it, so neither side allocates by itself.
#pragma once

#include <utility>
#include <variant>

#include "gradwire/core/check.h"

namespace gradwire {

template <class E>
struct Unexpected {
  E error;
};

template <class E>
Unexpected(E) -> Unexpected<E>;

template <class T, class E>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Unexpected<E> unexpected)
      : state_(std::in_place_index<1>, std::move(unexpected.error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() {
    GW_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    GW_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const E& error() const {
    GW_CHECK(!has_value());
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
    GW_CHECK(failed_);
    return error_;
  }

 private:
  bool failed_ = false;
  E error_{};
};

// Why bytes were refused, and where. `what` is a string literal.
struct DecodeError {
  const char* what = "";
  std::size_t byte_offset = 0;
};

template <class T>
using Decoded = Expected<T, DecodeError>;

}  // namespace gradwire
