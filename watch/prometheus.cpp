#include "watch/prometheus.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "record/json_file.h"

namespace gradwire::watch {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Inside quotes: backslashes, quotes and line feeds are written with a backslash. Other bytes stay,
// but for those that are no UTF-8.
std::string label_text(const std::string& text) {
  const std::string json =
      record::Json(text).dump(-1, ' ', false, record::Json::error_handler_t::replace);
  const std::string clean = record::Json::parse(json).get<std::string>();
  std::string escaped;
  for (const char letter : clean) {
    if (letter == '\\') {
      escaped += "\\\\";
    } else if (letter == '"') {
      escaped += "\\\"";
    } else if (letter == '\n') {
      escaped += "\\n";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// Samples of one metric are together, below its help.
class Metric {
 public:
  Metric(std::string name, const char* type, const char* help)
      : name_(std::move(name)),
        head_(fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name_, type, help)) {}

  void add(const RunState& run, const Labels& more, double value) {
    samples_ += fmt::format("{}{{run=\"{}\",directory=\"{}\"", name_, label_text(run.name),
                            label_text(run.directory));
    for (const auto& [label, text] : more) {
      samples_ += fmt::format(",{}=\"{}\"", label, label_text(text));
    }
    samples_ += "} " + number_text(value) + '\n';
  }

  std::string text() const { return samples_.empty() ? "" : head_ + samples_; }

 private:
  std::string name_;
  std::string head_;
  std::string samples_;
};

struct Simple {
  const char* name;
  const char* type;
  const char* help;
  std::function<std::optional<double>(const RunState&)> value;
};

double number(std::uint64_t count) { return static_cast<double>(count); }

std::optional<double> if_known(bool is_known, double value) {
  return is_known ? std::optional(value) : std::nullopt;
}

std::vector<Simple> simple_metrics() {
  const char* const gauge = "gauge";
  const char* const counter = "counter";
  const auto seconds = [](double Phases::*phase) {
    return [phase](const RunState& run) { return std::optional(run.phases.*phase); };
  };
  const auto metric = [](std::optional<double> record::Metrics::*member) {
    return [member](const RunState& run) { return run.metrics.*member; };
  };
  const auto count = [](std::uint64_t RunState::*member) {
    return [member](const RunState& run) { return std::optional(number(run.*member)); };
  };
  const auto elastic = [](std::uint64_t RunState::*member) {
    return [member](const RunState& run) { return if_known(run.is_elastic, number(run.*member)); };
  };
  return {
      {"gradwire_step", gauge, "The last step of the run.", count(&RunState::step)},
      {"gradwire_steps_planned", gauge, "The number of steps that the run will have.",
       [](const RunState& run) {
         return if_known(run.steps_planned.has_value(), number(run.steps_planned.value_or(0)));
       }},
      {"gradwire_loss", gauge, "The latest training loss.", metric(&record::Metrics::loss)},
      {"gradwire_gap", gauge, "The latest loss minus the least possible one.",
       metric(&record::Metrics::gap)},
      {"gradwire_test_loss", gauge, "The latest loss on the test set.",
       metric(&record::Metrics::test_loss)},
      {"gradwire_accuracy", gauge, "The latest accuracy on the test set, from 0 to 1.",
       metric(&record::Metrics::accuracy)},
      {"gradwire_learning_rate", gauge, "The learning rate of the last step.",
       [](const RunState& run) { return if_known(run.steps_seen > 0, run.learning_rate); }},
      {"gradwire_steps_per_second", gauge, "The rate of the latest 50 steps.",
       [](const RunState& run) {
         return if_known(run.steps_per_second > 0, run.steps_per_second);
       }},
      {"gradwire_steps_recorded_total", counter, "Steps in the record.",
       count(&RunState::steps_seen)},
      {"gradwire_sent_bytes_total", counter, "Bytes that a worker sent, the mean over the workers.",
       [](const RunState& run) { return std::optional(number(run.traffic.bytes_sent)); }},
      {"gradwire_received_bytes_total", counter,
       "Bytes that a worker received, the mean over the workers.",
       [](const RunState& run) { return std::optional(number(run.traffic.bytes_received)); }},
      {"gradwire_uploads_total", counter, "Uploads of all workers.", count(&RunState::uploads)},
      {"gradwire_uploads_skipped_total", counter, "Uploads that were left out.",
       count(&RunState::uploads_skipped)},
      {"gradwire_poisoned_steps_total", counter,
       "Steps that met a NaN or an infinity and changed nothing.", count(&RunState::poisoned)},
      {"gradwire_compute_seconds_total", counter, "Seconds of computing on rank 0.",
       seconds(&Phases::compute_seconds)},
      {"gradwire_encode_seconds_total", counter, "Seconds of encoding on rank 0.",
       seconds(&Phases::encode_seconds)},
      {"gradwire_exchange_seconds_total", counter, "Seconds of exchanging on rank 0.",
       seconds(&Phases::exchange_seconds)},
      {"gradwire_decode_seconds_total", counter, "Seconds of decoding on rank 0.",
       seconds(&Phases::decode_seconds)},
      {"gradwire_step_seconds_total", counter, "Seconds of the steps by the clock of rank 0.",
       [](const RunState& run) { return std::optional(run.seconds); }},
      {"gradwire_exposed_seconds_total", counter,
       "Seconds of the steps in which rank 0 did not compute.",
       [](const RunState& run) { return std::optional(run.exposed_seconds); }},
      {"gradwire_workers", gauge, "Workers; of an elastic run, the members of the last step.",
       [](const RunState& run) { return if_known(run.workers > 0, number(run.workers)); }},
      {"gradwire_views_total", counter, "Changes of the membership of an elastic run.",
       elastic(&RunState::views)},
      {"gradwire_members_lost_total", counter,
       "Members of an elastic run that departed without leaving.",
       elastic(&RunState::members_lost)},
      {"gradwire_last_update_timestamp_seconds", gauge, "When the record grew, since 1970.",
       [](const RunState& run) { return if_known(run.written_at > 0, run.written_at); }},
      {"gradwire_record_read_ratio", gauge, "The part of the record that the watcher has read.",
       [](const RunState& run) { return std::optional(run.share_read); }},
  };
}

constexpr RunState::Phase kPhases[] = {RunState::Phase::waiting,  RunState::Phase::reading,
                                       RunState::Phase::running,  RunState::Phase::quiet,
                                       RunState::Phase::finished, RunState::Phase::damaged};

}  // namespace

std::string prometheus_text(std::span<const RunState> states) {
  std::string text;
  for (const Simple& each : simple_metrics()) {
    Metric metric(each.name, each.type, each.help);
    for (const RunState& run : states) {
      if (const auto value = each.value(run)) metric.add(run, {}, *value);
    }
    text += metric.text();
  }
  Metric phase("gradwire_run_state", "gauge", "1 for the state that the run is in, else 0.");
  Metric notes("gradwire_note", "gauge", "What the notes of the method add up to.");
  for (const RunState& run : states) {
    for (const RunState::Phase each : kPhases) {
      phase.add(run, {{"state", name(each)}}, each == run.phase ? 1 : 0);
    }
    for (const RunState::NoteFact& fact : run.notes) {
      notes.add(run, {{"note", fact.note}, {"total", fact.total}}, fact.value);
    }
  }
  return text + phase.text() + notes.text();
}

}  // namespace gradwire::watch
