#include "gradwire/transport/gloo.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gloo/allreduce.h"
#include "gloo/math.h"
#include "gloo/rendezvous/prefix_store.h"
#include "gloo/transport/tcp/device.h"
#include "gradwire/core/check.h"
#include "gradwire/transport/check_transfer.h"
#include "gradwire/transport/file_store.h"
#include "gradwire/transport/gloo_mesh.h"
#include "gradwire/transport/gloo_start.h"
#include "gradwire/transport/route.h"
#include "gradwire/transport/sigpipe_guard.h"
#include "gradwire/transport/tcp_store.h"
#include "gradwire/transport/tcp_store_server.h"

namespace gradwire {
namespace {

using std::chrono::milliseconds;

// How long one step of Gloo's allreduce may wait for a peer that is there but silent.
constexpr milliseconds kAllreduceStepTimeMax = std::chrono::minutes(2);

// All ranks' connections, by what they are for. Heartbeats shall not queue behind data, and the
// yardstick shall not mix with either.
struct Meshes {
  std::shared_ptr<gloo::transport::Device> device;
  GlooMesh presence;
  GlooMesh data;
  GlooMesh yardstick;
};

class GlooTransport final : public Transport {
 public:
  // Without meshes it is alone.
  GlooTransport(std::size_t rank, std::vector<std::string> addresses,
                std::unique_ptr<Meshes> meshes)
      : rank_(rank), addresses_(std::move(addresses)), meshes_(std::move(meshes)) {}

  const char* name() const override { return "gloo"; }
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return addresses_.size(); }
  std::string address(std::size_t rank) const override { return addresses_.at(rank); }

  std::unique_ptr<Sender> sender(std::size_t peer, Tag tag,
                                 std::span<const std::byte> memory) override {
    return make_gloo_sender(connection(peer, tag), tag, memory);
  }
  std::unique_ptr<Receiver> receiver(std::size_t peer, Tag tag,
                                     std::span<std::byte> memory) override {
    return make_gloo_receiver(connection(peer, tag), tag, memory);
  }

  void allreduce(std::span<float> values) override;

  void abandon() noexcept override {
    if (!meshes_) return;
    for (GlooMesh* mesh : {&meshes_->presence, &meshes_->data, &meshes_->yardstick}) mesh->close();
  }

 private:
  GlooConnection& connection(std::size_t peer, Tag tag) {
    check_peer(peer, rank_, size());
    GW_CHECK(meshes_ != nullptr);
    return (tag.lane == Lane::presence ? meshes_->presence : meshes_->data).to(peer);
  }

  const std::size_t rank_;
  const std::vector<std::string> addresses_;
  const std::unique_ptr<Meshes> meshes_;
  std::uint32_t allreduces_ = 0;
};

void GlooTransport::allreduce(std::span<float> values) {
  if (!meshes_ || values.empty()) return;
  GlooMesh& mesh = meshes_->yardstick;
  mesh.fail_if_broken();
  const SigpipeGuard guard;
  try {
    gloo::AllreduceOptions options(mesh.context());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(values.data(), values.size());
    void (*sum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
    options.setReduceFunction(sum);
    options.setTag(allreduces_++);
    gloo::allreduce(options);
  } catch (const std::exception& error) {
    mesh.fail_if_broken();
    throw PeerError(std::string("Gloo's allreduce has failed: ") + gloo_reason(error.what()),
                    rank_);
  }
}

// Coming together.

void check(const GlooOptions& options) {
  if (options.rank >= options.size) {
    throw StartError("there is no rank " + std::to_string(options.rank) + " of " +
                     std::to_string(options.size));
  }
  if (options.size > 1 && options.directory.empty() && options.master_host.empty()) {
    throw StartError("ranks cannot find one another: there is neither a directory nor a host");
  }
}

// Where ranks meet, with the server of it on rank 0.
struct Rendezvous {
  std::unique_ptr<TcpStoreServer> server;
  std::unique_ptr<StartStore> store;
  std::string place;
};

// Rank 0 takes the same way as all others, which shows whether it is the one that they look for.
std::unique_ptr<StartStore> reach_own_server(const GlooOptions& options, const std::string& place) {
  constexpr milliseconds kTimeMax{5000};
  try {
    TcpStore(options.master_host, options.master_port, std::min(kTimeMax, options.start_time_max));
  } catch (const StartError&) {
    throw StartError("rank 0 listens on this host, but " + place +
                     " does not lead here: is MASTER_ADDR the address of rank 0's host?");
  }
  return std::make_unique<TcpStore>(options.master_host, options.master_port,
                                    options.start_time_max);
}

Rendezvous open_rendezvous(const GlooOptions& options) {
  Rendezvous result;
  if (!options.directory.empty()) {
    result.store = std::make_unique<FileStore>(options.directory, options.start_time_max);
    result.place = options.directory;
    return result;
  }
  result.place = options.master_host + ":" + std::to_string(options.master_port);
  if (options.rank == 0) {
    result.server = std::make_unique<TcpStoreServer>(options.master_port);
    result.store = reach_own_server(options, result.place);
  } else {
    result.store = std::make_unique<TcpStore>(options.master_host, options.master_port,
                                              options.start_time_max);
  }
  return result;
}

// An interface may have addresses of both kinds: all ranks should take the same.
gloo::transport::tcp::attr device_of_interface(const std::string& name) {
  check_interface(name);
  gloo::transport::tcp::attr attributes;
  attributes.iface = name;
  attributes.ai_family = AF_INET;
  try {
    gloo::transport::tcp::CreateDeviceAttr(attributes);
  } catch (const std::exception&) {
    attributes.ai_family = AF_INET6;
  }
  return attributes;
}

gloo::transport::tcp::attr device_attributes(const GlooOptions& options) {
  if (!options.interface.empty()) return device_of_interface(options.interface);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = options.directory.empty()
                            ? local_address_towards(options.master_host, options.master_port)
                            : "127.0.0.1";
  return attributes;
}

// What Gloo will listen on.
std::string listening_address(const gloo::transport::tcp::attr& attributes) {
  const auto complete = gloo::transport::tcp::CreateDeviceAttr(attributes);
  char text[NI_MAXHOST];
  const int error = getnameinfo(reinterpret_cast<const sockaddr*>(&complete.ai_addr),
                                static_cast<socklen_t>(complete.ai_addrlen), text, sizeof(text),
                                nullptr, 0, NI_NUMERICHOST);
  if (error != 0) throw StartError(std::string("no address to listen on: ") + gai_strerror(error));
  return text;
}

std::unique_ptr<Meshes> connect_all(const GlooOptions& options, StartStore& store,
                                    const gloo::transport::tcp::attr& attributes) {
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  const auto mesh = [&](const char* name) {
    gloo::rendezvous::PrefixStore keys(name, store);
    const auto left =
        std::chrono::duration_cast<milliseconds>(store.deadline() - StartStore::Clock::now());
    return GlooMesh(options.rank, options.size, keys, device, left, kAllreduceStepTimeMax);
  };
  return std::unique_ptr<Meshes>(
      new Meshes{device, mesh("presence"), mesh("data"), mesh("yardstick")});
}

// As the data connections have them: ports too.
std::vector<std::string> full_addresses(std::size_t self, const std::vector<RankInfo>& infos,
                                        Meshes& meshes) {
  std::vector<std::string> addresses;
  for (std::size_t rank = 0; rank < infos.size(); ++rank) {
    const std::string end = rank == self
                                ? GlooPair::own_address(*meshes.data.to(self == 0 ? 1 : 0).pair)
                                : meshes.data.to(rank).address;
    addresses.push_back(end + " (host " + infos[rank].host + ")");
  }
  for (std::size_t rank = 0; rank < infos.size(); ++rank) {
    if (rank == self) continue;
    for (GlooMesh* mesh : {&meshes.presence, &meshes.data, &meshes.yardstick}) {
      mesh->to(rank).address = addresses[rank];
    }
  }
  return addresses;
}

std::unique_ptr<Transport> come_together(const GlooOptions& options) {
  const SigpipeGuard guard;  // Gloo's thread inherits it
  const auto attributes = device_attributes(options);
  const RankInfo self{options.size, listening_address(attributes), host_name()};
  const Rendezvous rendezvous = open_rendezvous(options);
  const auto infos = meet(*rendezvous.store, options.rank, self, rendezvous.place);
  auto meshes = connect_all(options, *rendezvous.store, attributes);
  auto addresses = full_addresses(options.rank, infos, *meshes);
  part(*rendezvous.store, options.rank, options.size);
  return std::make_unique<GlooTransport>(options.rank, std::move(addresses), std::move(meshes));
}

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options) {
  check(options);
  if (options.size == 1) {
    return std::make_unique<GlooTransport>(0, std::vector<std::string>{"host " + host_name()},
                                           nullptr);
  }
  try {
    return come_together(options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw StartError("rank " + std::to_string(options.rank) +
                     " cannot connect to the others: " + gloo_reason(error.what()));
  }
}

}  // namespace gradwire
