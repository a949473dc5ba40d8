// CodeScheme: who sends which codes of the values at a step's indices, and what all ranks make of
// them. Values are in the units of the indices, the same number on all ranks. For one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/method/lgc/autoencoder.h"
#include "gradwire/method/lgc/options.h"

namespace gradwire {

// A step, as all ranks know it.
struct LgcStep {
  std::uint64_t step = 0;
  std::size_t leader = 0;
};

class CodeScheme {
 public:
  virtual ~CodeScheme() = default;

  virtual Topology topology() const = 0;

  // What the leader adds to its message, and how many bytes that is for so many values.
  virtual std::vector<std::byte> lead(std::span<const float> own) const = 0;
  virtual std::size_t lead_bytes(std::size_t values) const = 0;

  struct Outcome {
    std::vector<float> own;   // what all ranks take this rank's values for
    std::vector<float> mean;  // of all ranks' own, the same on all
    ExchangeReport report;
  };
  // `lead` came from the leader, and has as many bytes as it should. Throws PeerError, also for
  // bytes that are no code.
  virtual Outcome exchange(const LgcStep& turn, std::span<const std::byte> lead,
                           std::span<const float> own, bool is_poison) = 0;

  // What an exchange of these vectors, one a rank, would take each of them for.
  virtual std::vector<std::vector<float>> rehearse(const LgcStep& turn,
                                                   std::span<const std::vector<float>> vectors) = 0;
  virtual void learn(const LgcStep& turn, std::span<const std::vector<float>> vectors) = 0;

  // Of the code.
  virtual Autoencoder& code() = 0;
};

struct CodeSchemeSetup {
  const LgcOptions& options;
  std::size_t values_max = 0;
  Topology topology = Topology::automatic;
  std::size_t server = 0;  // with Topology::server
  std::uint64_t seed = 0;
};

// All ranks at once. Throws StartError, and Error for a topology that is none for it.
std::unique_ptr<CodeScheme> make_ring_scheme(Communicator& communicator,
                                             const CodeSchemeSetup& setup);
std::unique_ptr<CodeScheme> make_server_scheme(Communicator& communicator,
                                               const CodeSchemeSetup& setup);

}  // namespace gradwire
