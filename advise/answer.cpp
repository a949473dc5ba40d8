#include "advise/answer.h"

#include <algorithm>

#include "advise/byte_cost.h"
#include "advise/method_speed.h"
#include "bench/page_array.h"
#include "console/progress.h"
#include "gradwire/codec/codec.h"
#include "gradwire/core/machine_threads.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/step_order.h"

namespace gradwire::advise {
namespace {

constexpr std::size_t kMeasuredMax = std::size_t{1} << 23;       // elements of one worker
constexpr std::size_t kMeasuredByAllMax = std::size_t{1} << 25;  // and of those at once

// The index of the method without compression, which is added if it is missing.
std::size_t find_or_add_none(std::vector<std::string>& methods) {
  auto found = std::ranges::find_if(
      methods, [](const auto& text) { return parse_method(text).is_exact_mean(); });
  if (found == methods.end()) found = methods.insert(methods.begin(), baseline_spec());
  return static_cast<std::size_t>(found - methods.begin());
}

}  // namespace

WordsContext Answer::context() const {
  return {.candidates = candidates,
          .none = none,
          .scenario = scenario,
          .elements_measured = elements_measured,
          .source = source,
          .load = load};
}

const Prediction& Answer::baseline() const { return candidates[none].best(); }

double Answer::speedup(const Prediction& prediction) const {
  return baseline().seconds() / prediction.seconds();
}

double Answer::noise() const {
  double noise = 0;
  for (const Candidate& candidate : candidates) noise = std::max(noise, candidate.speed.noise);
  return noise;
}

std::string baseline_spec() { return make_plain_codec()->spec(); }

Answer find_answer(const Question& question, const console::Console& console) {
  Answer answer{.load = {.workers = question.host_workers, .cores = machine_threads()},
                .source = question.values.source()};
  answer.scenario = {.tensors = question.tensors,
                     .workers = question.workers / question.ranks_per_host,
                     .bits_per_second = std::ranges::min(question.bits_per_second),
                     .switch_bits_per_second = question.switch_bits_per_second,
                     .latency_seconds = question.latency_seconds,
                     .compute_seconds = question.compute_seconds,
                     .cores_per_worker = answer.load.cores_per_worker()};
  if (question.bits_per_second.size() > 1) {
    answer.scenario.link_bits_per_second = question.bits_per_second;
  }
  answer.scenario.ranks_per_host = question.ranks_per_host;
  if (question.workers == 1) return answer;

  std::vector<std::string> methods = question.methods;
  answer.none = find_or_add_none(methods);
  console::Progress progress(console, "advise", methods.size() + 1);
  progress.step("sockets");
  answer.scenario.socket_byte_seconds = socket_byte_seconds();
  answer.scenario.checksum_byte_seconds = checksum_byte_seconds();
  answer.scenario.sum_byte_seconds = sum_byte_seconds();
  const std::vector<MethodTensor> tensors = cut_tensors(
      question.tensors, std::min(kMeasuredMax, kMeasuredByAllMax / answer.load.at_once()));
  const bench::PageArray<float> values = make_values(question.values, total_elements(tensors));
  answer.elements_measured = values.span().size();
  for (const std::string& method : methods) {
    progress.step(method);
    answer.candidates.push_back(
        {.speed = measure_method(method, tensors, values.span(),
                                 {.load = answer.load, .rounds = question.rounds}),
         .predictions = {}});
  }
  for (Candidate& candidate : answer.candidates) {
    candidate.predictions =
        predict(candidate.speed, answer.candidates[answer.none].speed, answer.scenario);
  }
  answer.advice = advise(answer.candidates, answer.none, question.has_moments);
  return answer;
}

}  // namespace gradwire::advise
