#include "gradwire/collective/communicator.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "gradwire/collective/host_groups.h"
#include "gradwire/collective/progress.h"
#include "gradwire/core/machine_threads.h"
#include "gradwire/version.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr std::size_t kCodecThreadsMax = 1024;

std::unique_ptr<Transport> checked(std::unique_ptr<Transport> transport,
                                   const CommunicatorOptions& options) {
  if (!transport) throw Error("a communicator needs a transport, such as InProcessWorld::join()");
  if (options.peer_timeout.count() <= 0) {
    throw Error("a peer timeout of " + std::to_string(options.peer_timeout.count()) +
                " ms leaves peers no time to answer: take seconds");
  }
  if (options.codec_threads > kCodecThreadsMax) {
    throw Error(std::to_string(options.codec_threads) + " codec threads are too many: take " +
                std::to_string(kCodecThreadsMax) + " or fewer");
  }
  if (options.link && !options.link->is_valid()) {
    throw Error("the rate of a link must be a positive number of bytes per second, each way");
  }
  return transport;
}

// What tells this machine's cores from those of other machines: ranks in containers or network
// namespaces of one machine share them, whatever their host names are.
std::string machine_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

// What tells the network of this process from others on its machine, such as those of containers.
std::string network_id() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/net", none).string();
}

// A rank tells the others its machine, its network and the rate of its link.
std::string self_description(const std::optional<LinkRate>& link) {
  return machine_id() + '|' + network_id() + ' ' + (link ? link->text() : "");
}
std::string machine_of(const std::string& description) {
  return description.substr(0, description.find('|'));
}
// Ranks with the same machine and network share its link.
std::string host_of(const std::string& description) {
  return description.substr(0, description.find(' '));
}
std::vector<LinkRate> links_of(const std::vector<std::string>& descriptions) {
  std::vector<LinkRate> links;
  for (const std::string& description : descriptions) {
    const auto link = LinkRate::of_text(description.substr(description.find(' ') + 1));
    if (!link) return {};
    links.push_back(*link);
  }
  return links;
}

// The same answer on all ranks.
bool can_share_memory(HostGroups& hosts) {
  try {
    hosts.share_memory(1);
    return true;
  } catch (const StartError&) {
    return false;
  }
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Transport> transport, const CommunicatorOptions& options)
    : impl_(std::make_unique<Impl>(checked(std::move(transport), options), options)) {
  const std::vector<Fact> facts = {
      {"gradwire version", GRADWIRE_VERSION},      {"frame version", std::to_string(kFrameVersion)},
      {"number of ranks", std::to_string(size())}, {"run", std::to_string(options.run)},
      {"the hosts", options.hosts.text()},
  };
  std::vector<std::string> all;
  impl_->call([&](PeerLinks& links) {
    all = links.agreement.compare(facts, self_description(options.link));
    const auto ranks_here =
        static_cast<std::size_t>(std::ranges::count(all, machine_id(), machine_of));
    impl_->set_links(links_of(all));
    const std::size_t share = std::max<std::size_t>(1, machine_threads() / ranks_here);
    impl_->start_threads(options.codec_threads > 0 ? options.codec_threads : share);
  });
  std::ranges::transform(all, all.begin(), host_of);
  auto hosts = HostGroups::make(*this, hosts_by_rank(options.hosts, all));
  if (hosts && options.hosts.is_automatic && !can_share_memory(*hosts)) return;
  impl_->set_hosts(std::move(hosts));
}

Communicator::Communicator(Communicator& whole, const std::vector<std::size_t>& members,
                           std::uint16_t group)
    : impl_(std::make_unique<Impl>(whole.impl(), members, group)) {}

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

std::size_t Communicator::codec_threads() const { return impl_->threads().count(); }
std::span<const LinkRate> Communicator::links() const { return impl_->links(); }
HostGroups* Communicator::hosts() { return impl_->hosts(); }

void Communicator::allreduce(std::span<float> values) {
  impl_->call([values](PeerLinks& links) { links.transport.allreduce(values); });
}

void Communicator::barrier() {
  impl_->call([](PeerLinks& links) { links.agreement.compare({{"barrier", ""}}); });
}

void Communicator::close() { impl_->close(); }

}  // namespace gradwire
