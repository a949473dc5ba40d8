#include "gradwire/transport/start_store.h"

#include "gradwire/transport/transport.h"

namespace gradwire {

void StartStore::set(const std::string& key, const std::vector<char>& value) {
  if (!add(key, value)) throw StartError("two ranks have written the key " + key);
}

std::vector<char> StartStore::get(const std::string& key) {
  auto value = get_until(key, deadline_);
  if (!value) throw StartError("a rank ended during the start, before it wrote " + key);
  return *std::move(value);
}

std::string in_words(std::chrono::milliseconds time) {
  const auto count = time.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

}  // namespace gradwire
