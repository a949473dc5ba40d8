#include "record/attendance.h"

#include "gradwire/file/file_failure.h"
#include "record/fields.h"

namespace gradwire::record {
namespace {

constexpr double kMsPerSecond = 1e3;

}  // namespace

Json to_json(const Attendance& attendance) {
  return {{"view", attendance.view},       {"unix_ms", attendance.unix_ms},
          {"members", attendance.members}, {"attempts", attendance.attempts},
          {"epoch", attendance.epoch},     {"samples", attendance.samples}};
}

Attendance attendance_from(const Json& json) {
  return {.view = field<std::uint64_t>(json, "view"),
          .unix_ms = field<std::uint64_t>(json, "unix_ms"),
          .members = field<std::size_t>(json, "members"),
          .attempts = field<std::size_t>(json, "attempts"),
          .epoch = field<std::uint64_t>(json, "epoch"),
          .samples = field<std::vector<std::array<std::uint64_t, 2>>>(json, "samples")};
}

Json to_json(const ViewRecord& view) {
  Json members = Json::array();
  for (const ViewMember& member : view.members) {
    members.push_back({{"id", member.id}, {"address", member.address}});
  }
  Json departed = Json::array();
  for (const DepartedMember& member : view.departed) {
    departed.push_back(
        {{"id", member.id}, {"why", member.why}, {"lost_memory", member.lost_memory}});
  }
  return {{"view", view.view},    {"step", view.step},
          {"members", members},   {"joined", view.joined},
          {"departed", departed}, {"change_ms", kMsPerSecond * view.change_seconds},
          {"text", view.text}};
}

ViewRecord view_from(const Json& json) {
  ViewRecord view{.view = field<std::uint64_t>(json, "view"),
                  .step = field<std::uint64_t>(json, "step"),
                  .joined = field<std::vector<std::string>>(json, "joined"),
                  .change_seconds = field<double>(json, "change_ms") / kMsPerSecond,
                  .text = field<std::string>(json, "text")};
  for (const Json& member : field<Json>(json, "members")) {
    view.members.push_back(
        {field<std::string>(member, "id"), field<std::string>(member, "address")});
  }
  for (const Json& member : field<Json>(json, "departed")) {
    view.departed.push_back({field<std::string>(member, "id"), field<std::string>(member, "why"),
                             field<bool>(member, "lost_memory")});
  }
  return view;
}

ViewWriter::ViewWriter(const std::filesystem::path& path, bool is_continued)
    : path_(path), file_(path, is_continued ? std::ios::app : std::ios::trunc) {
  if (!file_) fail_errno(path_, "cannot be written");
}

void ViewWriter::write(const ViewRecord& view) {
  file_ << to_json(view).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  file_.flush();
  if (!file_) fail_errno(path_, "cannot be written");
}

}  // namespace gradwire::record
