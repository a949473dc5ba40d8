#include "record/code_record.h"

#include <cmath>

#include "gradwire/core/error.h"
#include "record/fields.h"

namespace gradwire::record {
namespace {

constexpr double kMsPerSecond = 1e3;

void add_to(Json& counts, const std::string& name, std::uint64_t more) {
  counts[name] = counts.value(name, std::uint64_t{0}) + more;
}

std::vector<CodeNote::Part> parts_from(const Json& json) {
  if (!json.is_object()) throw Error("the field 'parts' is of another type");
  std::vector<CodeNote::Part> parts;
  for (const auto& [name, bytes] : json.items()) {
    if (!bytes.is_number_unsigned())
      throw Error("the bytes of the part '" + name + "' are no count");
    parts.push_back({.name = name, .bytes = bytes.get<std::uint64_t>()});
  }
  return parts;
}

}  // namespace

Json to_json(const CodeNote& note) {
  Json parts = Json::object();
  for (const CodeNote::Part& part : note.parts) parts[part.name] = part.bytes;
  Json json = {{"phase", note.phase},
               {"error", note.error ? Json(*note.error) : Json()},
               {"is_estimate", note.is_estimate},
               {"learn_ms", kMsPerSecond * note.learn_seconds},
               {"parts", std::move(parts)}};
  if (!note.remark.empty()) json["remark"] = note.remark;
  return json;
}

CodeNote code_note_from(const Json& json) {
  CodeNote note{.phase = field<std::string>(json, "phase"),
                .parts = parts_from(field<Json>(json, "parts")),
                .learn_seconds = field<double>(json, "learn_ms") / kMsPerSecond};
  if (!field<Json>(json, "error").is_null()) note.error = field<double>(json, "error");
  note.is_estimate = field<bool>(json, "is_estimate");
  if (json.contains("remark")) note.remark = field<std::string>(json, "remark");
  return note;
}

void CodeTotals::add(const CodeNote& note, std::uint64_t bytes_up) {
  ++notes_;
  add_to(phases_, note.phase, 1);
  for (const CodeNote::Part& part : note.parts) add_to(parts_, part.name, part.bytes);
  learn_seconds_ += note.learn_seconds;
  if (note.phase != "coded") return;
  coded_bytes_.add(static_cast<double>(bytes_up));
  if (!note.error || !std::isfinite(*note.error)) return;
  coded_error_.add(*note.error);
  if (!note.is_estimate) measured_error_.add(*note.error);
}

Json CodeTotals::to_json() const {
  if (notes_ == 0) return nullptr;
  return {{"phases", phases_},
          {"parts", parts_},
          {"coded_bytes_per_step", coded_bytes_.to_json()},
          {"mean_error", coded_error_.to_json()},
          {"measured_error", measured_error_.to_json()},
          {"learn_ms", kMsPerSecond * learn_seconds_}};
}

void CodeTotals::Mean::add(double value) {
  sum += value;
  ++count;
}

Json CodeTotals::Mean::to_json() const {
  return count == 0 ? Json() : Json(sum / static_cast<double>(count));
}

}  // namespace gradwire::record
