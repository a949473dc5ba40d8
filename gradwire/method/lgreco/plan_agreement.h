// PlanAgreement: how ranks come to one plan. Every rank brings what it measured, all get the mean,
// rank 0 decides, and all get what it decided. All ranks make the same calls in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/method/lgreco/layer_plan.h"
#include "gradwire/method/method.h"

namespace gradwire {

class PlanAgreement {
 public:
  PlanAgreement(Communicator& communicator, std::size_t layers, std::size_t candidates,
                const MethodOptions& options);

  // Errors and norms are averaged as such, not their squares, so that they fit where gradients do.
  // Nothing if a rank has met what is not finite.
  bool share(std::uint64_t step, std::vector<LayerCosts>& costs);
  // The same for a few numbers, at most two for each layer and two more.
  bool share(std::uint64_t step, std::span<double> numbers);

  // Rank 0's; what the others have is not looked at.
  std::vector<std::size_t> hear(std::uint64_t step, std::vector<std::size_t> choices);

  // What an exchange takes on this network and topology, as the ranks see it on average.
  struct Link {
    double latency_seconds = 0;
    double bytes_per_second = 0;  // of messages: bytes that all have to say, not those on the wire
  };
  Link probe(std::uint64_t step, Topology topology);

  // What all that took since the last time.
  MethodReport take_report() { return std::exchange(report_, {}); }

 private:
  // The mean of floats over the ranks, or what one of them has.
  class Mean {
   public:
    Mean(Communicator& communicator, const char* name, std::size_t elements, Topology topology,
         const MethodOptions& options);
    std::span<float> values() { return values_; }
    // False if some were not finite.
    bool run(std::uint64_t step, float weight, MethodReport& report);

   private:
    std::vector<float> values_;
    std::unique_ptr<Exchange> exchange_;
  };

  Communicator& communicator_;
  std::size_t candidates_;
  Mean costs_;
  Mean numbers_;
  std::unique_ptr<Mean> probe_;
  std::unique_ptr<Mean> empty_probe_;
  MethodOptions options_;
  MethodReport report_;
};

}  // namespace gradwire
