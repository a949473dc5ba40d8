#include "gradwire/method/local/round_note.h"

#include <string>

#include "gradwire/method/note_totals.h"

namespace gradwire {
namespace {

constexpr const char* kSynchronous = "synchronous";
constexpr const char* kOwn = "own";
constexpr const char* kExchange = "exchange";

const char* name(LocalStepFacts::Kind kind) {
  return kind == LocalStepFacts::Kind::synchronous ? kSynchronous
         : kind == LocalStepFacts::Kind::exchange  ? kExchange
                                                   : kOwn;
}

std::string line_of(const Note& note) { return text_of(note.get("remark")); }

std::string summary_of(const NoteTotals& totals, double /*seconds*/) {
  if (totals.notes() == 0) return "";
  const std::uint64_t exchanges = totals.count("steps", kExchange);
  return std::to_string(totals.count("steps", kSynchronous)) + " synchronous steps, then " +
         std::to_string(totals.count("steps", kOwn) + exchanges) + " of each worker's own, " +
         std::to_string(exchanges) + " of them with an exchange.";
}

NoteKind make_kind() {
  using Type = NoteField::Type;
  using Empty = NoteField::Empty;
  using How = NoteTotal::How;
  const auto bytes = [](const char* total, const char* kind, const char* label) {
    return NoteTotal{.name = total,
                     .how = How::mean,
                     .of = kBytesSent,
                     .only = {{"step", std::string(kind)}},
                     .unit = "bytes",
                     .label = label};
  };
  return {.step_name = "local",
          .run_name = "local",
          .fields = {{.name = "step", .type = Type::text, .words = {kSynchronous, kOwn, kExchange}},
                     {.name = "fragments", .type = Type::count},
                     {.name = "drift", .type = Type::number, .empty = Empty::absent},
                     {.name = "remark", .type = Type::text, .empty = Empty::absent}},
          .totals = {{.name = "steps", .how = How::count, .of = "step"},
                     {.name = "drift", .how = How::mean, .of = "drift", .label = "mean drift"},
                     bytes("synchronous_bytes_per_step", kSynchronous,
                           "bytes sent in a synchronous step"),
                     bytes("bytes_per_exchange", kExchange, "bytes sent in an exchange")},
          .view = {.title = "Local steps",
                   .hint = "Workers take steps of their own between exchanges. Drift is the "
                           "distance from worker 0 to the new common model, over how far the "
                           "worker had moved since the last exchange."},
          .line = line_of,
          .summary = summary_of};
}

}  // namespace

const NoteKind& local_note_kind() {
  static const NoteKind kind = make_kind();
  return kind;
}

std::shared_ptr<const Note> make_local_note(const LocalStepFacts& facts) {
  auto note = std::make_shared<Note>(local_note_kind());
  note->set("step", std::string(name(facts.kind)));
  note->set("fragments", facts.fragments);
  if (facts.drift) note->set("drift", *facts.drift);
  if (facts.every) {
    note->set("remark", "From now on workers take steps of their own, and exchange every " +
                            std::to_string(*facts.every) + " steps.");
  }
  return note;
}

}  // namespace gradwire
