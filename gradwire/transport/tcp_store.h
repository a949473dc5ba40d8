// A start store on rank 0's host, reached by TCP. Every rank has one, rank 0 too; the server is
// TcpStoreServer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/start_store.h"
#include "gradwire/transport/tcp_store_format.h"

namespace gradwire {

class TcpStore final : public StartStore {
 public:
  // Tries all that time: rank 0 may start last. Throws StartError.
  TcpStore(const std::string& host, std::uint16_t port, std::chrono::milliseconds time_max,
           std::shared_ptr<const TlsContext> security = nullptr, std::uint64_t run_key = 0);

  bool add(const std::string& key, const std::vector<char>& value) override;
  std::optional<std::vector<char>> get_until(const std::string& key,
                                             Clock::time_point time) override;

 private:
  struct Reply {
    StoreStatus status;
    std::vector<char> value;
  };

  void greet(std::uint64_t run_key);
  Reply ask(StoreRequestHeader header, const std::string& key, std::span<const char> value);
  void send(std::span<const std::byte> bytes, Clock::time_point until);
  void receive(std::span<std::byte> bytes, Clock::time_point until);
  [[noreturn]] void fail_to_answer() const;
  [[noreturn]] void fail(const std::string& what) const;

  const std::string where_;  // "10.0.0.1:29500"
  Channel channel_;
};

}  // namespace gradwire
