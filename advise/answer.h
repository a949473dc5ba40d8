// From a question (a model, workers, a network) to the advice: measures all methods on this
// machine, predicts them for the network, and compares. Value types.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "advise/advice.h"
#include "advise/at_once.h"
#include "advise/prediction.h"
#include "advise/sample.h"
#include "console/console.h"
#include "gradwire/method/method.h"

namespace gradwire::advise {

struct Question {
  std::vector<MethodTensor> tensors;
  std::size_t workers = 1;
  std::size_t ranks_per_host = 1;            // that add up first; links are then those of hosts
  std::size_t host_workers = 1;              // workers that share this machine's cores
  std::vector<double> bits_per_second = {};  // of all links; or one for each worker
  double switch_bits_per_second = 0;         // of all links together; 0: it keeps up
  double latency_seconds = 0;
  std::optional<double> compute_seconds = {};  // of a step; nothing: not known
  std::vector<std::string> methods;  // the method without compression is added if it is missing
  bool has_moments = false;          // of the optimiser, as Adam's and AdamW's squares of gradients
  ValueOptions values = {};
  std::size_t rounds = 5;
};

// The candidates are empty for a single worker: it exchanges nothing.
struct Answer {
  Scenario scenario = {};
  HostLoad load = {};
  std::size_t elements_measured = 0;
  std::string source;  // of the values
  std::vector<Candidate> candidates = {};
  std::size_t none = 0;  // index of the candidate without compression
  Advice advice = {};

  // These three need candidates.
  WordsContext context() const;
  const Prediction& baseline() const;                  // none, on its fastest topology
  double speedup(const Prediction& prediction) const;  // against the baseline

  // The largest MethodSpeed::noise.
  double noise() const;
};

// The spec of the method without compression, with which all others are compared.
std::string baseline_spec();

// Shows its progress on the console. Throws SpecError, FileError, and Error for a method that
// cannot work on the values.
Answer find_answer(const Question& question, const console::Console& console);

}  // namespace gradwire::advise
