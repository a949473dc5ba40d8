#include "fuzz/mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gradwire::fuzz {
namespace {

auto at(Input& input, std::size_t place) {
  return input.begin() + static_cast<std::ptrdiff_t>(place);
}

}  // namespace

Input Mutator::next() {
  constexpr std::size_t kMutationsMax = 4;
  Input input = any_seed();
  for (std::size_t left = 1 + below(kMutationsMax); left > 0; --left) mutate(input);
  return input;
}

void Mutator::mutate(Input& input) {
  constexpr void (Mutator::*kOnAnything[])(Input&) = {&Mutator::insert_bytes, &Mutator::splice};
  constexpr void (Mutator::*kOnBytes[])(Input&) = {
      &Mutator::flip_bit,    &Mutator::set_byte, &Mutator::truncate,     &Mutator::insert_bytes,
      &Mutator::erase_bytes, &Mutator::splice,   &Mutator::edit_integer, &Mutator::edit_integer};
  const auto mutation = input.empty() ? kOnAnything[below(std::size(kOnAnything))]
                                      : kOnBytes[below(std::size(kOnBytes))];
  (this->*mutation)(input);
}

void Mutator::flip_bit(Input& input) {
  input[below(input.size())] ^= static_cast<std::byte>(1u << below(8));
}

void Mutator::set_byte(Input& input) { input[below(input.size())] = any_byte(); }

void Mutator::truncate(Input& input) { input.resize(below(input.size())); }

void Mutator::insert_bytes(Input& input) {
  constexpr std::size_t kInsertedMax = 16;
  Input inserted(1 + below(kInsertedMax));
  std::generate(inserted.begin(), inserted.end(), [this] { return any_byte(); });
  input.insert(at(input, below(input.size() + 1)), inserted.begin(), inserted.end());
}

void Mutator::erase_bytes(Input& input) {
  const std::size_t begin = below(input.size());
  const std::size_t end = begin + 1 + below(std::min<std::size_t>(16, input.size() - begin));
  input.erase(at(input, begin), at(input, end));
}

// The front of the input, and the back of some seed.
void Mutator::splice(Input& input) {
  const Input& other = any_seed();
  const auto back = static_cast<std::ptrdiff_t>(below(other.size() + 1));
  input.resize(below(input.size() + 1));
  input.insert(input.end(), other.end() - back, other.end());
}

// As if the bytes at some place were a length: a little more or less, or one of those where
// arithmetic goes wrong. Lengths are mostly near the front.
void Mutator::edit_integer(Input& input) {
  constexpr std::size_t kFrontBytes = 96;
  const std::size_t bytes = std::min(std::size_t{1} << below(4), input.size());
  const std::size_t places = input.size() - bytes + 1;
  const std::size_t place = below(below(2) == 0 ? std::min(kFrontBytes, places) : places);
  std::uint64_t value = 0;
  std::memcpy(&value, input.data() + place, bytes);
  const std::uint64_t unusual[] = {value + 1,
                                   value - 1,
                                   value * 2,
                                   value + below(64),
                                   0,
                                   ~std::uint64_t{0},
                                   std::uint64_t{1} << below(64),
                                   input.size(),
                                   (std::uint64_t{1} << below(64)) - 1};
  value = unusual[below(std::size(unusual))];
  std::memcpy(input.data() + place, &value, bytes);
}

}  // namespace gradwire::fuzz
