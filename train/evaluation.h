// Evaluation: how good the model is on the test set. The ranks' running statistics are averaged for
// it, and every rank looks at a part of the test set. All ranks call it at the same step. For one
// thread; what it is made with must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/source.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "record/run_record.h"
#include "train/model.h"

namespace gradwire::train {

// The score of part `part` of `parts` of the test set.
Score score_test(Model& model, const data::Source& source, std::size_t part, std::size_t parts,
                 data::Batch& batch);

// Of segments, from a score's counts by class, summed or averaged over the ranks: first all `both`,
// then all `either`. Classes that are nowhere do not count.
std::optional<double> mean_iou(std::span<const double> counts);

class Evaluation {
 public:
  // `weight` is what this rank's statistics count: zero for one without samples.
  Evaluation(Communicator& communicator, const data::Source& source, Model& model, float weight);

  // Test loss and accuracy, of segments also the mean IoU, the same on all ranks. The model's own
  // statistics stay as they are.
  record::Metrics run(std::uint64_t step);

  // The mean over the ranks: found now, or when it was last found.
  std::span<const float> last_mean() const { return mean_; }
  std::span<const float> mean_statistics(std::uint64_t step);

  // Bytes that averaging took since this was last called. They are no message of a method.
  Traffic take_traffic();

 private:
  std::optional<double> common_mean_iou(const Score& own);

  Communicator& communicator_;
  const data::Source& source_;
  Model& model_;
  const float weight_;
  std::unique_ptr<Exchange> exchange_;  // none where the model has no statistics
  std::vector<float> mean_;
  std::vector<float> kept_;
  Traffic traffic_;
  data::Batch batch_;
};

}  // namespace gradwire::train
