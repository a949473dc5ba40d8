#include "gradwire/method/adam/phase_note.h"

#include <string>

#include "gradwire/method/note_totals.h"

namespace gradwire {
namespace {

constexpr const char* kWarmup = "warm-up";
constexpr const char* kCompressed = "compressed";
constexpr const char* kRefresh = "refresh";

const char* name(AdamPhase phase) {
  return phase == AdamPhase::warmup    ? kWarmup
         : phase == AdamPhase::refresh ? kRefresh
                                       : kCompressed;
}

std::string line_of(const Note& note) { return text_of(note.get("remark")); }

std::string summary_of(const NoteTotals& totals, double /*seconds*/) {
  if (totals.notes() == 0) return "";
  if (totals.count("phases", kCompressed) == 0) {
    return "All steps were warm-up: nothing was compressed. Set warmup=STEPS, or a smaller beta2.";
  }
  return std::to_string(totals.count("phases", kWarmup)) + " steps of warm-up and " +
         std::to_string(totals.count("phases", kRefresh)) + " refreshes, then " +
         std::to_string(totals.count("phases", kCompressed)) + " compressed steps.";
}

NoteKind make_kind() {
  using Type = NoteField::Type;
  using How = NoteTotal::How;
  const auto bytes = [](const char* total, const char* phase) {
    return NoteTotal{.name = total,
                     .how = How::mean,
                     .of = kBytesSent,
                     .only = {{"phase", std::string(phase)}},
                     .unit = "bytes",
                     .label = std::string("bytes sent in a step, ") + phase};
  };
  return {
      .step_name = "adam",
      .run_name = "adam",
      .fields = {{.name = "phase", .type = Type::text, .words = {kWarmup, kCompressed, kRefresh}},
                 {.name = "remark", .type = Type::text, .empty = NoteField::Empty::absent}},
      .totals = {{.name = "phases", .how = How::count, .of = "phase"},
                 bytes("warmup_bytes_per_step", kWarmup),
                 bytes("compressed_bytes_per_step", kCompressed),
                 bytes("refresh_bytes_per_step", kRefresh)},
      .view = {.title = "Phases of Adam",
               .hint = "Whole gradients in the warm-up and in refreshes, which update the mean "
                       "squares; the codec in all other steps."},
      .line = line_of,
      .summary = summary_of};
}

}  // namespace

const NoteKind& adam_note_kind() {
  static const NoteKind kind = make_kind();
  return kind;
}

std::shared_ptr<const Note> make_adam_note(AdamPhase phase, std::uint64_t steps, bool is_first) {
  auto note = std::make_shared<Note>(adam_note_kind());
  note->set("phase", std::string(name(phase)));
  if (is_first) {
    note->set("remark", "The warm-up is over after " + std::to_string(steps) +
                            " steps: from now on steps are compressed.");
  }
  return note;
}

}  // namespace gradwire
