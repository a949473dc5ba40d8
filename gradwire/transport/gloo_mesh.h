// A set of connections of Gloo's, one to every other rank. A transport has several, so that what
// goes over one never waits for what goes over another.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "gloo/rendezvous/context.h"
#include "gradwire/transport/gloo_transfer.h"

namespace gradwire {

class GlooMesh {
 public:
  // Connects to all; the other ranks do the same. `operation_time_max` is for Gloo's own
  // collectives. Throws what Gloo or the store throws.
  GlooMesh(std::size_t rank, std::size_t size, gloo::rendezvous::Store& store,
           std::shared_ptr<gloo::transport::Device>& device,
           std::chrono::milliseconds connect_time_max,
           std::chrono::milliseconds operation_time_max);

  GlooConnection& to(std::size_t peer);

  // For Gloo's collectives.
  const std::shared_ptr<gloo::Context>& context() const { return context_; }

  // Throws PeerError for the first peer whose connection is broken, if there is one.
  void fail_if_broken();

  // Resets all connections. What is under way ends there.
  void close() noexcept;

 private:
  std::shared_ptr<gloo::Context> context_;
  std::vector<GlooConnection> connections_;  // by rank; this rank's own is empty
};

}  // namespace gradwire
