#include "gradwire/transport/gloo_mesh.h"

#include <algorithm>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

namespace tcp = gloo::transport::tcp;

// Derived to reach the transport's context, for which buffers are made.
class Context : public gloo::rendezvous::Context {
 public:
  using gloo::rendezvous::Context::Context;

  std::shared_ptr<tcp::Context> tcp_context() const {
    return std::dynamic_pointer_cast<tcp::Context>(transportContext_);
  }
};

}  // namespace

GlooMesh::GlooMesh(std::size_t rank, std::size_t size, gloo::rendezvous::Store& store,
                   std::shared_ptr<gloo::transport::Device>& device,
                   std::chrono::milliseconds connect_time_max,
                   std::chrono::milliseconds operation_time_max) {
  auto context = std::make_shared<Context>(static_cast<int>(rank), static_cast<int>(size));
  constexpr int kGlooConnectFactor = 5;  // Gloo waits that much longer for connections
  constexpr std::chrono::milliseconds kTimeMin{100};
  context->setTimeout(std::max(connect_time_max / kGlooConnectFactor, kTimeMin));
  context->connectFullMesh(store, device);
  context->setTimeout(operation_time_max);
  context_ = context;

  const auto tcp_context = context->tcp_context();
  GW_CHECK(tcp_context != nullptr);
  connections_.resize(size);
  for (std::size_t peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    auto* pair = dynamic_cast<tcp::Pair*>(tcp_context->getPair(static_cast<int>(peer)).get());
    GW_CHECK(pair != nullptr);
    GlooConnection& connection = connections_[peer];
    connection.context = tcp_context;
    connection.pair = pair;
    connection.peer = peer;
    connection.address = GlooPair::peer_address(*pair);
  }
}

GlooConnection& GlooMesh::to(std::size_t peer) {
  GW_CHECK(peer < connections_.size() && connections_[peer].pair != nullptr);
  return connections_[peer];
}

void GlooMesh::fail_if_broken() {
  for (const GlooConnection& connection : connections_) {
    if (connection.pair && GlooPair::is_broken(*connection.pair)) connection.fail();
  }
}

void GlooMesh::close() noexcept {
  for (GlooConnection& connection : connections_) connection.known_broken = true;
  try {
    context_->closeConnections();
  } catch (...) {
  }
}

}  // namespace gradwire
