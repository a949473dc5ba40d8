#include "advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "console/format.h"

namespace gradwire::advise {
namespace {

constexpr std::size_t kColumns = 80;
// Who is at most so much slower than the fastest, and far gentler, is the better choice.
constexpr double kAboutAsFast = 1.1;
constexpr double kGentle = 0.5;  // an error of so much of another's

std::string wrapped(const std::string& text) {
  std::string lines;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (column > 0 && column + 1 + length > kColumns) {
      lines += '\n';
      column = 0;
    }
    if (column > 0) lines += ' ';
    lines += text.substr(at, length);
    column += length + (column > 0 ? 1 : 0);
    at = end + 1;
  }
  return lines + '\n';
}

// Three digits, and a unit with which they need no exponent.
std::string time_text(double seconds) {
  const bool is_long = seconds >= 0.9995;
  if (seconds >= 1e3) return console::thousands(static_cast<std::uint64_t>(seconds)) + " s";
  return console::significant(is_long ? seconds : 1e3 * seconds, 3) + (is_long ? " s" : " ms");
}
std::string size_text(double bytes) {
  if (bytes >= 1e12) return console::thousands(static_cast<std::uint64_t>(1e-9 * bytes)) + " GB";
  if (bytes >= 0.9995e9) return console::significant(1e-9 * bytes, 3) + " GB";
  if (bytes >= 0.9995e6) return console::significant(1e-6 * bytes, 3) + " MB";
  return console::significant(1e-3 * bytes, 3) + " kB";
}

// "natural by scatter"
std::string way_text(const Candidate& candidate) {
  return fmt::format("{} on the topology {}", candidate.speed.method,
                     name(candidate.best().topology));
}

// Methods without a memory need a small error: noise below the gradient if it is unbiased, or a
// tenth of that if it has a bias. An optimiser with second moments needs unbiased gradients, unless
// workers take steps of their own. Others are not recommended, however fast they are.
bool is_sound(const Candidate& candidate, bool has_moments) {
  const MethodSpeed& speed = candidate.speed;
  if (speed.owns_moments) return false;  // it saves nothing in its warm-up: Advice::later
  const bool is_small = candidate.best().relative_error <= (speed.is_unbiased ? 1 : 0.1);
  if (has_moments && speed.every == 1) return speed.is_unbiased && is_small;
  return speed.has_memory || is_small;
}

class Words {
 public:
  Words(const Advice& advice, const WordsContext& context)
      : advice_(advice),
        context_(context),
        none_(context.candidates[context.none]),
        chosen_(context.candidates[advice.candidate]) {}

  std::string text() const {
    if (!advice_.compresses) return wrapped(refusal() + " " + reason());
    std::string text = wrapped(recommendation() + " " + reason());
    if (advice_.gentler) text += wrapped(gentler());
    if (advice_.later) text += wrapped(later());
    return text;
  }

 private:
  const char* what_is_timed() const {
    return context_.scenario.compute_seconds ? "a step" : "an exchange";
  }

  std::string recommendation() const {
    return fmt::format(
        "Use {}: {} takes {} instead of {}, {} times as fast as without compression, and a {} "
        "sends {} instead of {}.",
        way_text(chosen_), what_is_timed(), time_text(chosen_.best().seconds()),
        time_text(none_.best().seconds()), console::significant(advice_.speedup, 3),
        context_.scenario.ranks_per_host > 1 ? "host" : "worker",
        size_text(chosen_.best().bytes_sent), size_text(none_.best().bytes_sent));
  }

  std::string refusal() const {
    if (advice_.runner_up == context_.none) {
      return fmt::format("Use {}: nothing else was given that could be advised.", way_text(none_));
    }
    const Candidate& other = context_.candidates[advice_.runner_up];
    const double speedup = advice_.runner_up_speedup;
    const std::string how =
        speedup < 1.005
            ? fmt::format("the fastest other, {}, is no faster ({} instead of {})", way_text(other),
                          time_text(other.best().seconds()), time_text(none_.best().seconds()))
            : fmt::format(
                  "the fastest other, {}, takes {} instead of {}, which is {} times "
                  "as fast and less than the {} that is worth an error",
                  way_text(other), time_text(other.best().seconds()),
                  time_text(none_.best().seconds()), console::significant(speedup, 3),
                  console::significant(kWorthwhile, 2));
    return fmt::format("Do not compress: use {}; {}.", way_text(none_), how);
  }

  // Where the time goes without compression.
  std::string reason() const {
    const Prediction& exact = none_.best();
    std::string text = is_even() ? reason_of_equal_links(exact) : reason_of_uneven_links(exact);
    if (!exact.step_seconds) return text + ".";
    const double compute = *context_.scenario.compute_seconds;
    const double visible = *exact.step_seconds - compute;
    if (const std::size_t groups = context_.scenario.groups(); groups > 1) {
      text += fmt::format(", in {} exchanges, one after the other", groups);
    }
    return text + fmt::format(". The computation of {1} hides all but {0} of it.",
                              time_text(visible), time_text(compute));
  }

  bool is_even() const {
    const Scenario& scenario = context_.scenario;
    return scenario.link_bits_per_second.empty() && scenario.switch_bits_per_second == 0;
  }

  std::string reason_of_equal_links(const Prediction& exact) const {
    const double bytes = std::max(exact.bytes_sent, exact.server_bytes_sent);
    const double link = bytes / plan::payload_rate(context_.scenario.bits_per_second);
    const double share = 100 * std::min(1.0, link / exact.exchange_seconds);
    return fmt::format(
        "Without compression, the exchange takes {}, {}% of it to send {} over a link of {}",
        time_text(exact.exchange_seconds), console::fixed(share, 0), size_text(bytes),
        rate_text(context_.scenario.bits_per_second));
  }

  std::string reason_of_uneven_links(const Prediction& exact) const {
    const Scenario& scenario = context_.scenario;
    std::string text =
        fmt::format("Without compression, the exchange takes {}; the slowest link has {}",
                    time_text(exact.exchange_seconds), rate_text(scenario.bits_per_second));
    if (scenario.switch_bits_per_second > 0) {
      text +=
          fmt::format(", and the switch {} for all", rate_text(scenario.switch_bits_per_second));
    }
    return text;
  }

  std::string gentler() const {
    const Candidate& candidate = context_.candidates[*advice_.gentler];
    return fmt::format(
        "If its error of {} is too much: {} has an error of {}, and is {} times as fast as without "
        "compression.",
        console::significant(chosen_.best().relative_error, 2), way_text(candidate),
        console::significant(candidate.best().relative_error, 2),
        console::significant(none_.best().seconds() / candidate.best().seconds(), 3));
  }

  std::string later() const {
    const Candidate& candidate = context_.candidates[*advice_.later];
    return fmt::format(
        "For fewer bytes: after a warm-up, {} takes {}, and is {} times as fast as without "
        "compression.",
        way_text(candidate), time_text(candidate.best().seconds()),
        console::significant(none_.best().seconds() / candidate.best().seconds(), 3));
  }

  const Advice& advice_;
  const WordsContext& context_;
  const Candidate& none_;
  const Candidate& chosen_;
};

std::string compute_words(const Scenario& scenario) {
  if (!scenario.compute_seconds) {
    return "How long a step computes was not given (--compute-ms): only the exchange is judged, as "
           "if none of it were hidden behind computing.";
  }
  const std::size_t groups = scenario.groups();
  if (groups == 1) {
    return "So few parameters travel as one group when the backward pass is over: nothing hides "
           "behind it.";
  }
  return fmt::format(
      "Two thirds of a step's computing are the backward pass. The tensors travel in {} groups, "
      "and "
      "all but the last may hide behind it; encoding takes no time from it.",
      groups);
}

std::string network_words(const Scenario& scenario) {
  std::string text;
  if (scenario.link_bits_per_second.empty()) {
    text = fmt::format("Every {} has a link of its own of {} each way",
                       scenario.ranks_per_host > 1 ? "host" : "worker",
                       rate_text(scenario.bits_per_second));
  } else {
    text = fmt::format(
        "The {}s' links have {} to {} each way, and the owners of scatter share the elements "
        "so that all links finish together",
        scenario.ranks_per_host > 1 ? "host" : "worker", rate_text(scenario.bits_per_second),
        rate_text(std::ranges::max(scenario.link_bits_per_second)));
  }
  text += fmt::format(", {} ms from program to program, and ",
                      console::significant(1e3 * scenario.latency_seconds, 3));
  if (scenario.switch_bits_per_second == 0) {
    text += "the switch between them keeps up.";
  } else {
    text += fmt::format("the switch between them passes on {} in all.",
                        rate_text(scenario.switch_bits_per_second));
  }
  if (scenario.ranks_per_host == 1) return text;
  return text + fmt::format(" The {} workers of a host first add up in shared memory, at {} GB/s.",
                            scenario.ranks_per_host,
                            console::significant(1e-9 / scenario.sum_byte_seconds, 2));
}

}  // namespace

std::string rate_text(double bits_per_second) {
  constexpr struct {
    double factor;
    const char* unit;
  } kUnits[] = {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}};
  for (const auto& [factor, unit] : kUnits) {
    if (bits_per_second >= factor) {
      return fmt::format("{} {}", console::significant(bits_per_second / factor, 4), unit);
    }
  }
  return fmt::format("{} bit/s", console::significant(bits_per_second, 4));
}

namespace {

// The fastest method that is an optimiser with second moments itself, if it is worthwhile.
std::optional<std::size_t> later_than_warm_up(const std::vector<Candidate>& candidates,
                                              std::size_t none, bool has_moments) {
  const auto seconds = [&](std::size_t i) { return candidates[i].best().seconds(); };
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!has_moments || !candidates[i].speed.owns_moments) continue;
    if (seconds(none) < kWorthwhile * seconds(i)) continue;
    if (!found || seconds(i) < seconds(*found)) found = i;
  }
  return found;
}

}  // namespace

Advice advise(const std::vector<Candidate>& candidates, std::size_t none, bool has_moments) {
  const auto seconds = [&](std::size_t i) { return candidates[i].best().seconds(); };
  const auto error = [&](std::size_t i) { return candidates[i].best().relative_error; };
  // Of those that compress with an error of at most that.
  const auto fastest = [&](double error_max) {
    std::vector<std::size_t> able;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i == none || !is_sound(candidates[i], has_moments) || error(i) > error_max) continue;
      able.push_back(i);
      least = std::min(least, seconds(i));
    }
    std::erase_if(able, [&](std::size_t i) { return seconds(i) > kAsFast * least; });
    // Of those that are about as fast, fewer bytes: they are counted, and do not vary.
    const auto fewest = std::ranges::min_element(
        able, {}, [&](std::size_t i) { return candidates[i].best().bytes_sent; });
    return fewest == able.end() ? std::nullopt : std::optional(*fewest);
  };
  // The same if it is worth it.
  const auto gentler_than = [&](std::size_t i) {
    const auto found = error(i) > 0 ? fastest(kGentle * error(i)) : std::nullopt;
    return found && seconds(none) >= kWorthwhile * seconds(*found) ? found : std::nullopt;
  };

  Advice advice{.candidate = none, .runner_up = none, .runner_up_speedup = 0};
  advice.later = later_than_warm_up(candidates, none, has_moments);
  const auto first = fastest(std::numeric_limits<double>::infinity());
  if (!first) return advice;
  advice.runner_up = *first;
  advice.runner_up_speedup = seconds(none) / seconds(*first);
  if (advice.runner_up_speedup < kWorthwhile) return advice;

  advice.compresses = true;
  advice.candidate = *first;
  advice.gentler = gentler_than(*first);
  while (advice.gentler && seconds(*advice.gentler) <= kAboutAsFast * seconds(*first)) {
    advice.candidate = *advice.gentler;
    advice.gentler = gentler_than(advice.candidate);
  }
  advice.speedup = seconds(none) / seconds(advice.candidate);
  return advice;
}

std::vector<RoundLength> round_lengths(const WordsContext& context) {
  const std::optional<double>& compute = context.scenario.compute_seconds;
  const Candidate& none = context.candidates[context.none];
  if (!compute || *compute <= 0 || none.best().seconds() <= *compute / kBusy) return {};
  const Candidate* gentle = nullptr;
  for (const Candidate& candidate : context.candidates) {
    const MethodSpeed& speed = candidate.speed;
    const bool fits = !speed.has_memory && speed.is_unbiased && speed.every == 1 &&
                      candidate.best().relative_error <= 1 && &candidate != &none;
    if (!fits) continue;
    const double seconds = candidate.best().exchange_seconds;
    if (gentle == nullptr || seconds < gentle->best().exchange_seconds) gentle = &candidate;
  }
  std::vector<RoundLength> rounds;
  for (const Candidate* candidate : {&none, gentle}) {
    if (candidate == nullptr) continue;
    // compute / (compute + exchange / every) is the share.
    const double exchange = candidate->best().exchange_seconds;
    const double every = std::ceil(kBusy / (1 - kBusy) * exchange / *compute);
    rounds.push_back(
        {.spec = fmt::format("local({}, every={:.0f})", candidate->speed.method, every),
         .every = static_cast<std::uint64_t>(every)});
  }
  return rounds;
}

std::string round_words(const std::vector<RoundLength>& rounds) {
  if (rounds.empty()) return "";
  std::string text = fmt::format(
      "Workers that take steps of their own compute {:.0f}% of the time with ", 100 * kBusy);
  for (std::size_t i = 0; i < rounds.size(); ++i) text += (i > 0 ? " or " : "") + rounds[i].spec;
  return wrapped(text + "; longer rounds cost more of the loss.");
}

std::string words_for_one_worker() {
  return "Do not compress: one worker has nobody to exchange gradients with.\n";
}

std::string advice_words(const Advice& advice, const WordsContext& context) {
  return Words(advice, context).text();
}

std::string assumption_words(const WordsContext& context) {
  const Scenario& scenario = context.scenario;
  const bool is_cut = context.elements_measured < scenario.elements();
  std::string text = wrapped(fmt::format(
      "Speeds were measured just now on this machine, {}with {} elements ({}){}; other workers are "
      "taken to be as fast, and to begin together.",
      is_cut ? "on a part of the model " : "", console::thousands(context.elements_measured),
      context.source,
      context.load.workers > 1 ? fmt::format(", as {} workers have them that share its {} cores",
                                             context.load.workers, context.load.cores)
                               : ""));
  text += wrapped(network_words(scenario));
  text += wrapped(compute_words(scenario));
  if (std::ranges::any_of(context.candidates,
                          [](const Candidate& each) { return each.speed.keeps_uploads; })) {
    text += wrapped(
        "Methods that skip uploads are judged by steps in which all workers send, without the "
        "second gradient that they compute.");
  }
  text += wrapped(
      "The error is |C(v) - v| / |v| of one worker's gradient, with all roundings on its way. "
      "Those of different workers are independent where a codec is unbiased (u), and shrink in the "
      "mean, by up to the root of the number of workers where their gradients agree. A memory (m) "
      "adds the unsent part to the next gradient. Only a training run shows the effect on the "
      "loss.");
  return text;
}

}  // namespace gradwire::advise
