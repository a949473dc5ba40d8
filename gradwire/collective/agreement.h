// Agreement: what all ranks must have in common, compared before it matters. Every rank tells every
// other its facts, and whoever sees a difference says on what. Used on the progress thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/transport/presence.h"
#include "gradwire/transport/transport.h"

namespace gradwire {

struct Fact {
  std::string name;   // "the uplink's codec"
  std::string value;  // "qsgd(bits=4)"
};

class Agreement {
 public:
  // Both must outlive it.
  Agreement(Transport& transport, Presence& presence);

  // Throws StartError if a rank has other facts; then it does on all ranks. Waits for all of them,
  // so it is a barrier, too.
  void compare(const std::vector<Fact>& facts);

  // The same, and every rank tells the others a word that may differ. Returns the words, by rank.
  std::vector<std::string> compare(std::vector<Fact> facts, const std::string& word);

  static constexpr std::size_t kMessageBytes = 4096;
  using Message = std::array<std::byte, kMessageBytes>;

 private:
  // The first difference, in words. With `words`, the last fact is not compared: words gets its
  // value, by rank.
  std::optional<std::string> exchange(const std::vector<Fact>& facts,
                                      std::vector<std::string>* words = nullptr);
  void refuse_if(const std::optional<std::string>& differs);

  struct Peer {
    Message in{};
    std::unique_ptr<Sender> send;  // sends out_
    std::unique_ptr<Receiver> receive;
  };

  Transport& transport_;
  Presence& presence_;
  Message out_{};
  std::vector<Peer> peers_;  // by rank; this rank's own is not used
};

}  // namespace gradwire
