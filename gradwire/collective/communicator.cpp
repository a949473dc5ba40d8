#include "gradwire/collective/communicator.h"

#include "gradwire/collective/progress.h"
#include "gradwire/version.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

std::unique_ptr<Transport> checked(std::unique_ptr<Transport> transport,
                                   const CommunicatorOptions& options) {
  if (!transport) throw Error("a communicator needs a transport, such as InProcessWorld::join()");
  if (options.peer_timeout.count() <= 0) {
    throw Error("a peer timeout of " + std::to_string(options.peer_timeout.count()) +
                " ms leaves peers no time to answer: take seconds");
  }
  return transport;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Transport> transport, const CommunicatorOptions& options)
    : impl_(std::make_unique<Impl>(checked(std::move(transport), options), options)) {
  const std::vector<Fact> facts = {
      {"gradwire version", GRADWIRE_VERSION},
      {"frame version", std::to_string(kFrameVersion)},
      {"number of ranks", std::to_string(size())},
      {"run", std::to_string(options.run)},
  };
  impl_->call([&](PeerLinks& links) { links.agreement.compare(facts); });
}

Communicator::~Communicator() = default;

std::size_t Communicator::rank() const { return impl_->transport().rank(); }
std::size_t Communicator::size() const { return impl_->transport().size(); }
std::uint64_t Communicator::run() const { return impl_->run(); }
const char* Communicator::transport_name() const { return impl_->transport().name(); }
std::string Communicator::address(std::size_t rank) const {
  return impl_->transport().address(rank);
}
std::size_t Communicator::refused_connections() const {
  return impl_->transport().refused_connections();
}

void Communicator::allreduce(std::span<float> values) {
  impl_->call([values](PeerLinks& links) { links.transport.allreduce(values); });
}

void Communicator::barrier() {
  impl_->call([](PeerLinks& links) { links.agreement.compare({{"barrier", ""}}); });
}

void Communicator::close() { impl_->close(); }

}  // namespace gradwire
