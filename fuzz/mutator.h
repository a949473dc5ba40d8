// Mutator: an endless list of altered seeds, always the same for the same seeds and number. What
// replay.cpp has in place of libFuzzer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace gradwire::fuzz {

using Input = std::vector<std::byte>;

class Mutator {
 public:
  // There is at least one seed. They must outlive the mutator.
  Mutator(const std::vector<Input>& seeds, std::uint64_t number) : seeds_(seeds), random_(number) {}

  Input next();

 private:
  void mutate(Input& input);
  void flip_bit(Input& input);
  void set_byte(Input& input);
  void truncate(Input& input);
  void insert_bytes(Input& input);
  void erase_bytes(Input& input);
  void splice(Input& input);
  void edit_integer(Input& input);

  // Below the bound, which is above 0. Not std::uniform_int_distribution, which is not the same
  // everywhere.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  std::byte any_byte() { return static_cast<std::byte>(below(256)); }
  const Input& any_seed() { return seeds_[below(seeds_.size())]; }

  const std::vector<Input>& seeds_;
  std::mt19937_64 random_;
};

}  // namespace gradwire::fuzz
