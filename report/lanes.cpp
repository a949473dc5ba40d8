#include "report/lanes.h"

#include <algorithm>
#include <vector>

#include "record/attendance.h"

namespace gradwire::report {
namespace {

using record::Json;
using record::ViewRecord;

constexpr std::size_t kIdDigits = 8;

std::string short_name(const std::string& id) { return id.substr(0, kIdDigits); }

Json change_of(const ViewRecord& view) {
  Json joined = Json::array();
  for (const std::string& id : view.joined) joined.push_back(short_name(id));
  Json departed = Json::array();
  for (const record::DepartedMember& member : view.departed) {
    departed.push_back({{"name", short_name(member.id)},
                        {"why", member.why},
                        {"lost_memory", member.lost_memory}});
  }
  return {{"step", view.step}, {"view", view.view},    {"members", view.members.size()},
          {"joined", joined},  {"departed", departed}, {"ms", 1e3 * view.change_seconds}};
}

Json run_lanes(const Run& run) {
  if (run.record.views.empty() || run.steps.empty()) return nullptr;
  std::vector<ViewRecord> views;
  for (const Json& view : run.record.views) views.push_back(record::view_from(view));
  const std::uint64_t first = run.steps.front().step;
  const std::uint64_t last = run.steps.back().step;
  Json lanes = Json::array();
  Json changes = Json::array();
  std::vector<std::string> ids;  // of the lanes
  for (const ViewRecord& view : views) {
    // A view begins after its step, so the first step of a newcomer is the next one.
    const std::uint64_t begin = std::clamp(view.step + 1, first, last + 1);
    for (const record::ViewMember& member : view.members) {
      if (std::ranges::find(ids, member.id) != ids.end()) continue;
      ids.push_back(member.id);
      lanes.push_back({{"name", short_name(member.id)},
                       {"address", member.address},
                       {"from", begin},
                       {"to", last + 1},
                       {"end", ""}});
    }
    for (const record::DepartedMember& member : view.departed) {
      const auto found = std::ranges::find(ids, member.id);
      if (found == ids.end()) continue;
      Json& lane = lanes[static_cast<std::size_t>(found - ids.begin())];
      lane["to"] = begin;
      lane["end"] = member.why;
    }
    changes.push_back(change_of(view));
  }
  return {{"first", first}, {"last", last}, {"lanes", lanes}, {"changes", changes}};
}

}  // namespace

Json lanes_of(std::span<const Run> runs) {
  Json all = Json::array();
  for (const Run& run : runs) all.push_back(run_lanes(run));
  return all;
}

}  // namespace gradwire::report
