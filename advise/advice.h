// Advice: the method to use, and its explanation in words. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "advise/prediction.h"

namespace gradwire::advise {

// A method with its measured speed and the predictions that follow.
struct Candidate {
  MethodSpeed speed;
  MethodPredictions predictions;

  const Prediction& best() const { return predictions.topologies[predictions.best]; }
};

// A smaller speedup is not worth a method's error, and predictions are not that good.
inline constexpr double kWorthwhile = 1.2;

struct Advice {
  bool compresses = false;
  std::size_t candidate = 0;                // the method to use
  std::optional<std::size_t> gentler = {};  // less error, and still worthwhile
  std::optional<std::size_t> later = {};    // fewer bytes after a warm-up, for second moments
  double speedup = 1;                       // of that method, against the best without compression
  std::size_t runner_up = 0;                // the fastest that compresses
  double runner_up_speedup = 1;
};

// Of at least one candidate: `none` is the index of the one that does not compress. `has_moments`:
// the optimiser divides by the squares of gradients, as Adam and AdamW do.
Advice advise(const std::vector<Candidate>& candidates, std::size_t none, bool has_moments = false);

// The advice for a single worker.
std::string words_for_one_worker();

struct WordsContext {
  const std::vector<Candidate>& candidates;
  std::size_t none = 0;
  const Scenario& scenario;
  std::size_t elements_measured = 0;
  std::string source;  // of the values
  HostLoad load;
};
// The method, the reason and the speedup; then the assumptions. Lines have at most 80 columns.
std::string advice_words(const Advice& advice, const WordsContext& context);
std::string assumption_words(const WordsContext& context);

// "1 Gbit/s"
std::string rate_text(double bits_per_second);

}  // namespace gradwire::advise
