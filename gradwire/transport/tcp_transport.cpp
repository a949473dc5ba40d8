#include "gradwire/transport/tcp_transport.h"

#include <utility>

#include "gradwire/transport/check_transfer.h"
#include "gradwire/transport/ring_allreduce.h"
#include "gradwire/transport/tcp_transfer.h"

namespace gradwire {
namespace {

class TcpTransport final : public Transport {
 public:
  TcpTransport(std::size_t rank, std::vector<std::string> addresses, TcpMesh mesh,
               std::size_t refused_connections)
      : rank_(rank),
        addresses_(std::move(addresses)),
        mesh_(std::move(mesh)),
        refused_connections_(refused_connections) {}

  const char* name() const override { return "tcp"; }
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return addresses_.size(); }
  std::string address(std::size_t rank) const override { return addresses_.at(rank); }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    check_peer(peer, rank_, size());
    return make_tcp_sender(mesh_, mesh_.peer(peer), tag, memory);
  }
  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    check_peer(peer, rank_, size());
    return make_tcp_receiver(mesh_, mesh_.peer(peer), tag, memory);
  }

  void wait_for_any(std::chrono::microseconds time) override { mesh_.wait_for_any(time); }
  void wake() noexcept override { mesh_.wake(); }

  std::size_t refused_connections() const override { return refused_connections_; }

  void allreduce(std::span<float> values) override { ring_allreduce(*this, values); }

  void abandon() noexcept override { mesh_.close(); }

 private:
  const std::size_t rank_;
  const std::vector<std::string> addresses_;
  TcpMesh mesh_;
  const std::size_t refused_connections_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(std::size_t rank, std::vector<std::string> addresses,
                                              TcpMesh mesh, std::size_t refused_connections) {
  return std::make_unique<TcpTransport>(rank, std::move(addresses), std::move(mesh),
                                        refused_connections);
}

}  // namespace gradwire
