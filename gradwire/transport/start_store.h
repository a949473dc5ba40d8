// The key-value store through which ranks find one another before they are connected. Each key is
// written once, and readers wait for it, until a deadline. For one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

class StartStore {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StartStore(std::chrono::milliseconds time_max)
      : time_max_(time_max), deadline_(Clock::now() + time_max) {}
  virtual ~StartStore() = default;

  std::chrono::milliseconds time_max() const { return time_max_; }
  Clock::time_point deadline() const { return deadline_; }

  // Returns false if the key exists already; its value does not change.
  virtual bool add(const std::string& key, const std::vector<char>& value) = 0;

  // Waits for the key until `time`. Does not wait if `time` is in the past.
  virtual std::optional<std::vector<char>> get_until(const std::string& key,
                                                     Clock::time_point time) = 0;

  // The same with the deadline, and StartError where there is nothing to return.
  void set(const std::string& key, const std::vector<char>& value);
  std::vector<char> get(const std::string& key);

 private:
  const std::chrono::milliseconds time_max_;
  const Clock::time_point deadline_;
};

// "60 s" or "1500 ms", for messages.
std::string in_words(std::chrono::milliseconds time);

}  // namespace gradwire
