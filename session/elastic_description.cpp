#include "session/elastic_description.h"

#include <optional>

#include "gradwire/core/error.h"
#include "gradwire/version.h"
#include "record/fields.h"
#include "record/hash_text.h"

namespace gradwire::session {
namespace {

using record::field;
using record::Json;

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> optional_field(const Json& json, const char* name) {
  if (field<Json>(json, name).is_null()) return std::nullopt;
  return field<T>(json, name);
}

ElasticDescription description_from(const Json& json) {
  const auto version = field<std::string>(json, "version");
  if (version != GRADWIRE_VERSION) {
    throw Error("the run is of gradwire " + version + ", and this is " + GRADWIRE_VERSION +
                ": members must have the same version");
  }
  ElasticDescription run{.method = field<std::string>(json, "method"),
                         .data_checksum = field<std::string>(json, "data_checksum"),
                         .global_batch = field<std::size_t>(json, "global_batch"),
                         .members_least = field<std::size_t>(json, "members_least"),
                         .silence_ms = field<std::uint64_t>(json, "silence_ms"),
                         .wait_ms = field<std::uint64_t>(json, "wait_ms")};
  TrainOptions& options = run.options;
  options.model = field<std::string>(json, "model");
  options.data = field<std::string>(json, "data");
  options.steps = optional_field<std::uint64_t>(json, "steps");
  options.regulariser = field<std::string>(json, "regulariser");
  options.seed = field<std::uint64_t>(json, "seed");
  options.workers.topology_name = field<std::string>(json, "topology");
  options.workers.hosts = HostChoice::of_text(field<std::string>(json, "hosts"));
  options.checkpoint_every = optional_field<std::uint64_t>(json, "checkpoint_every");
  NetworkOptions& network = options.network;
  network.learning_rate = optional_field<double>(json, "learning_rate");
  network.optimiser = field<std::string>(json, "optimiser");
  network.schedule = field<std::string>(json, "schedule");
  network.warmup_epochs = field<double>(json, "warmup_epochs");
  network.clip = optional_field<double>(json, "clip");
  network.accumulate = field<std::size_t>(json, "accumulate");
  network.evaluate_every = optional_field<std::uint64_t>(json, "evaluate_every");
  network.keep = field<std::size_t>(json, "keep");
  network.context = optional_field<std::size_t>(json, "context");
  network.words = field<bool>(json, "words");
  network.no_augmentation = !field<bool>(json, "augmentation");
  return run;
}

}  // namespace

Json to_json(const ElasticDescription& run) {
  const TrainOptions& options = run.options;
  const NetworkOptions& network = options.network;
  return {{"version", GRADWIRE_VERSION},
          {"method", run.method},
          {"model", options.model},
          {"data", options.data_or_usual()},
          {"data_checksum", run.data_checksum},
          {"steps", optional(options.steps)},
          {"global_batch", run.global_batch},
          {"accumulate", network.accumulate},
          {"optimiser", network.optimiser},
          {"regulariser", options.regulariser_spec()},
          {"clip", optional(network.clip)},
          {"learning_rate", optional(network.learning_rate)},
          {"schedule", network.schedule},
          {"warmup_epochs", network.warmup_epochs},
          {"context", optional(network.context)},
          {"words", network.words},
          {"augmentation", !network.no_augmentation},
          {"seed", options.seed},
          {"topology", options.workers.topology_name},
          {"hosts", options.workers.hosts.text()},
          {"evaluate_every", optional(network.evaluate_every)},
          {"checkpoint_every", optional(options.checkpoint_every)},
          {"keep", network.keep},
          {"members_least", run.members_least},
          {"silence_ms", run.silence_ms},
          {"wait_ms", run.wait_ms}};
}

std::vector<std::byte> to_bytes(const ElasticDescription& description) {
  const std::string text = to_json(description).dump();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

ElasticDescription parse_description(std::span<const std::byte> bytes) {
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  const Json document = Json::parse(text, text + bytes.size(), nullptr, false);
  if (document.is_discarded()) {
    throw Error("the run does not describe itself as a run of 'gradwire train' does");
  }
  try {
    return description_from(document);
  } catch (const Error& error) {
    throw Error("this process cannot take part in the run: " + std::string(error.what()));
  }
}

void check_data(const ElasticDescription& description, const data::Source& source) {
  const std::string here = record::hash_text(source.checksum());
  if (here == description.data_checksum) return;
  throw Error("the data " + source.name() + " of this process have the hash " + here +
              ", and those of the run " + description.data_checksum +
              ": copy the data of another member, and name them with --data");
}

}  // namespace gradwire::session
