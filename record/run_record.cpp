#include "record/run_record.h"

#include "gradwire/core/error.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/method/registry.h"
#include "record/fields.h"

namespace gradwire::record {
namespace {

Phases phases_from(const Json& seconds) {
  return {.compute_seconds = field<double>(seconds, "compute"),
          .encode_seconds = field<double>(seconds, "encode"),
          .exchange_seconds = field<double>(seconds, "exchange"),
          .decode_seconds = field<double>(seconds, "decode")};
}

Json notes_from(const Json& json) {
  Json notes = Json::object();
  for (const NoteKind* kind : note_kinds()) {
    const auto found = json.find(kind->run_name);
    if (found != json.end() && !found->empty()) notes[kind->run_name] = *found;
  }
  return notes;
}

}  // namespace

Json to_json(const Metrics& metrics) {
  Json json = Json::object();
  if (metrics.loss) json["loss"] = *metrics.loss;
  if (metrics.gap) json["gap"] = *metrics.gap;
  if (metrics.test_loss) json["test_loss"] = *metrics.test_loss;
  if (metrics.accuracy) json["accuracy"] = *metrics.accuracy;
  if (metrics.mean_iou) json["mean_iou"] = *metrics.mean_iou;
  return json;
}

Metrics metrics_from(const Json& json) {
  return {.loss = optional_number(json, "loss"),
          .gap = optional_number(json, "gap"),
          .test_loss = optional_number(json, "test_loss"),
          .accuracy = optional_number(json, "accuracy"),
          .mean_iou = optional_number(json, "mean_iou")};
}

Json to_json(const RunRecord& record) {
  Json json = {{"method", record.method},
               {"workers", record.workers},
               {"steps", record.steps},
               {"parameters", record.parameters},
               {"start", to_json(record.start)},
               {"final", to_json(record.final)},
               {"bytes_up_per_worker", record.traffic.bytes_sent},
               {"bytes_down_per_worker", record.traffic.bytes_received},
               {"message_bytes_per_worker", record.traffic.message_bytes},
               {"uploads", record.uploads},
               {"uploads_skipped", record.uploads_skipped},
               {"poisoned", record.poisoned},
               {"model_hash", record.model_hash},
               {"seconds",
                {{"compute", record.phases.compute_seconds},
                 {"encode", record.phases.encode_seconds},
                 {"exchange", record.phases.exchange_seconds},
                 {"decode", record.phases.decode_seconds},
                 {"total", record.seconds}}}};
  for (const NoteKind* kind : note_kinds()) {
    if (kind->is_list) json[kind->run_name] = Json::array();
  }
  json.update(record.notes);
  if (!record.late.empty()) json["late"] = record.late;
  if (!record.views.empty()) json["views"] = record.views;
  json["configuration"] = record.configuration;
  json["version"] = record.version;
  json["machine"] = record.machine;
  if (!record.is_finished) json["finished"] = false;
  return json;
}

RunRecord run_from_json(const Json& json) {
  return {.method = field<std::string>(json, "method"),
          .workers = field<std::size_t>(json, "workers"),
          .steps = field<std::uint64_t>(json, "steps"),
          .parameters = field<std::uint64_t>(json, "parameters"),
          .start = metrics_from(field<Json>(json, "start")),
          .final = metrics_from(field<Json>(json, "final")),
          .traffic = {.message_bytes = field<std::uint64_t>(json, "message_bytes_per_worker"),
                      .bytes_sent = field<std::uint64_t>(json, "bytes_up_per_worker"),
                      .bytes_received = field<std::uint64_t>(json, "bytes_down_per_worker")},
          .uploads = field<std::uint64_t>(json, "uploads"),
          .uploads_skipped = field<std::uint64_t>(json, "uploads_skipped"),
          .late = json.contains("late") ? field<std::vector<std::uint64_t>>(json, "late")
                                        : std::vector<std::uint64_t>(),
          .poisoned = field<std::uint64_t>(json, "poisoned"),
          .model_hash = field<std::string>(json, "model_hash"),
          .phases = phases_from(field<Json>(json, "seconds")),
          .seconds = field<double>(json["seconds"], "total"),
          .notes = notes_from(json),
          .views = json.contains("views") ? field<Json>(json, "views") : Json::array(),
          .configuration = field<Json>(json, "configuration"),
          .version = field<std::string>(json, "version"),
          .machine = field<Json>(json, "machine"),
          .is_finished = !json.contains("finished") || field<bool>(json, "finished")};
}

void write_run(const std::filesystem::path& path, const RunRecord& record) {
  write_json_file(path, to_json(record));
}

RunRecord read_run(const std::filesystem::path& path) {
  const Json document = read_json_file(path);
  try {
    return run_from_json(document);
  } catch (const Error& error) {
    fail_file(path, error.what());
  }
}

}  // namespace gradwire::record
