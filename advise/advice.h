// The advice: what to use, and the words for it. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "advise/prediction.h"

namespace gradwire::advise {

// A method with what was measured of it, and what is predicted of that.
struct Candidate {
  MethodSpeed speed;
  MethodPredictions predictions;

  const Prediction& best() const { return predictions.topologies[predictions.best]; }
};

// By less than this a method is not worth its error, nor are predictions that good.
inline constexpr double kWorthwhile = 1.2;

struct Advice {
  bool compresses = false;
  std::size_t candidate = 0;                // what to use
  std::optional<std::size_t> gentler = {};  // less error, and still worthwhile
  double speedup = 1;                       // of what to use, against the best without compression
  std::size_t runner_up = 0;                // the fastest that compresses
  double runner_up_speedup = 1;
};

// Of at least one candidate: `none` is the index of the one that does not compress.
Advice advise(const std::vector<Candidate>& candidates, std::size_t none);

// The advice for a worker that is alone.
std::string words_for_one_worker();

struct WordsContext {
  const std::vector<Candidate>& candidates;
  std::size_t none = 0;
  const Scenario& scenario;
  std::size_t elements_measured = 0;
  std::string source;  // of the values
  HostLoad load;
};
// What to use, why and by how much; then what it rests on. Lines of at most 96 columns.
std::string advice_words(const Advice& advice, const WordsContext& context);
std::string assumption_words(const WordsContext& context);

// "1 Gbit/s"
std::string rate_text(double bits_per_second);

}  // namespace gradwire::advise
