#include "report/facts.h"

#include <algorithm>
#include <cstdio>

#include "report/json_values.h"

namespace gradwire::report {
namespace {

constexpr std::size_t kDifferentValuesMax = 4;

std::string thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// "" for what is no single value.
std::string to_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_unsigned()) return thousands(value.get<std::uint64_t>());
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  if (!value.is_number_float()) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value.get<double>());
  return text;
}

template <class Value>
std::string of_all(std::span<const Run> runs, Value value_of) {
  std::vector<std::string> values;
  for (const Run& run : runs) {
    std::string value = value_of(run.record);
    if (value.empty() || std::ranges::find(values, value) != values.end()) continue;
    values.push_back(std::move(value));
  }
  if (values.size() > kDifferentValuesMax) return std::to_string(values.size()) + " different";
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

std::string configured(std::span<const Run> runs, const char* name) {
  return of_all(
      runs, [&](const record::RunRecord& run) { return to_text(member(run.configuration, name)); });
}

// "1 Gbit/s, 100 Mbit/s": the rate of each worker's link, in the order of the ranks.
std::string links_text(const record::RunRecord& run) {
  const Json& rates = member(run.configuration, "link_bits_per_second");
  if (!rates.is_array()) return "";
  std::string text;
  for (const Json& rate : rates) {
    if (!rate.is_number()) return "";
    const auto bits = rate.get<double>();
    char number[48];
    std::snprintf(number, sizeof number, bits >= 1e9 ? "%.4g Gbit/s" : "%.4g Mbit/s",
                  bits / (bits >= 1e9 ? 1e9 : 1e6));
    text += (text.empty() ? "" : ", ") + std::string(number);
  }
  return text;
}

// "rank 3 in 120 steps": the ranks that came too late to be counted.
std::string late_text(const record::RunRecord& run) {
  std::string text;
  for (std::size_t rank = 0; rank < run.late.size(); ++rank) {
    if (run.late[rank] == 0) continue;
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank) + " in " +
            thousands(run.late[rank]) + " steps";
  }
  return text;
}

std::string machine_text(const record::RunRecord& run) {
  std::string text = text_member(run.machine, "system");
  const std::string cpus = to_text(member(run.machine, "cpus"));
  if (!cpus.empty()) text += (text.empty() ? "" : ", ") + cpus + (cpus == "1" ? " CPU" : " CPUs");
  return text;
}

}  // namespace

std::string title_of(std::span<const Run> runs) {
  const std::string model = configured(runs, "model");
  const std::string data = configured(runs, "data");
  if (model.empty()) return data.empty() ? "Training" : "Training on " + data;
  return data.empty() ? model : model + " on " + data;
}

std::vector<Fact> facts_of(std::span<const Run> runs) {
  const auto count = [&](auto member) {
    return of_all(runs, [&](const record::RunRecord& run) {
      return run.*member == 0 ? "" : thousands(run.*member);
    });
  };
  std::vector<Fact> facts = {
      {"Workers", count(&record::RunRecord::workers)},
      {"Steps", count(&record::RunRecord::steps)},
      {"Parameters", count(&record::RunRecord::parameters)},
      {"Batch per worker", configured(runs, "batch")},
      {"Learning rate", configured(runs, "learning_rate")},
      {"Optimiser", configured(runs, "optimiser")},
      {"Schedule", configured(runs, "schedule")},
      {"Split", configured(runs, "split")},
      {"Topology", configured(runs, "topology")},
      {"Transport", configured(runs, "transport")},
      {"Links", of_all(runs, links_text)},
      {"Grace", configured(runs, "grace")},
      {"Late", of_all(runs, late_text)},
      {"Seed", configured(runs, "seed")},
      {"Version", of_all(runs, [](const record::RunRecord& run) { return run.version; })},
      {"Compiler",
       of_all(runs,
              [](const record::RunRecord& run) { return text_member(run.machine, "compiler"); })},
      {"Machine", of_all(runs, machine_text)}};
  std::erase_if(facts, [](const Fact& fact) { return fact.value.empty(); });
  return facts;
}

}  // namespace gradwire::report
