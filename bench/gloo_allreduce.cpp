#include "bench/gloo_allreduce.h"

#ifdef GRADWIRE_HAS_GLOO
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/collective/all_gather.h"
#endif

namespace gradwire::bench {

#ifdef GRADWIRE_HAS_GLOO
namespace {

// "10.0.0.3:4711 (host node3)" or "[fe80::3]:4711 (host node3)": the address without the port.
std::string host_in(std::string_view address) {
  if (address.starts_with('[')) return std::string(address.substr(1, address.find(']') - 1));
  return std::string(address.substr(0, address.find(':')));
}

// Gloo's store. All ranks write a key at once, read those of the others, and go on to the next.
// Keys end with the rank.
class GatheringStore final : public gloo::rendezvous::Store {
 public:
  explicit GatheringStore(Communicator& communicator)
      : gather_(communicator, {.name = "addresses of Gloo", .bytes_max = kBytesMax}) {}

  void set(const std::string&, const std::vector<char>& value) override {
    gather_.run({.own = std::as_bytes(std::span(value))});
  }
  std::vector<char> get(const std::string& key) override {
    const auto bytes = gather_.from(std::stoul(key.substr(key.rfind('_') + 1)));
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    return {text, text + bytes.size()};
  }
  void wait(const std::vector<std::string>&) override {}

 private:
  static constexpr std::size_t kBytesMax = 1 << 20;
  AllGather gather_;
};

class Ring final : public GlooAllreduce {
 public:
  explicit Ring(Communicator& communicator)
      : context_(std::make_shared<gloo::rendezvous::Context>(
            static_cast<int>(communicator.rank()), static_cast<int>(communicator.size()))) {
    std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to connections that the peer has closed
    gloo::transport::tcp::attr attributes;
    attributes.hostname = host_in(communicator.address(communicator.rank()));
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    GatheringStore store(communicator);
    context_->connectFullMesh(store, device);
  }

  void run(std::span<float> values) override {
    try {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setOutput(values.data(), values.size());
      void (*sum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
      options.setReduceFunction(sum);
      options.setTag(calls_++);
      gloo::allreduce(options);
    } catch (const std::exception& error) {
      throw Error(std::string("Gloo's all-reduce has failed: ") + error.what());
    }
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::uint32_t calls_ = 0;
};

}  // namespace

std::unique_ptr<GlooAllreduce> GlooAllreduce::connect(Communicator& communicator) {
  if (communicator.size() == 1 || std::string_view(communicator.transport_name()) != "tcp") {
    return nullptr;
  }
  try {
    return std::make_unique<Ring>(communicator);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(std::string("Gloo, the yardstick, cannot connect: ") + error.what());
  }
}

#else

std::unique_ptr<GlooAllreduce> GlooAllreduce::connect(Communicator&) { return nullptr; }

#endif

}  // namespace gradwire::bench
