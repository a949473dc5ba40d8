#include "report/condensed_run.h"

#include <algorithm>
#include <utility>

#include "record/step_log.h"

namespace gradwire::report {
namespace {

using record::StepRecord;

void take_latest(const record::Metrics& from, record::Metrics& to) {
  if (from.loss) to.loss = from.loss;
  if (from.gap) to.gap = from.gap;
  if (from.test_loss) to.test_loss = from.test_loss;
  if (from.accuracy) to.accuracy = from.accuracy;
}

// Which of `count` neighbours is kept. Not the same one of every block: notes may repeat with a
// period.
std::uint64_t chosen_of(std::uint64_t block, std::uint64_t count) {
  std::uint64_t x = block * 0x9e3779b97f4a7c15u + count;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (x ^ (x >> 31)) % count;
}

}  // namespace

bool CondensedRun::Group::has_evaluation() const {
  const record::Metrics& metrics = sums.metrics;
  return metrics.gap || metrics.test_loss || metrics.accuracy;
}

void CondensedRun::Group::append(const Group& next) {
  sums.step = next.sums.step;
  sums.learning_rate = next.sums.learning_rate;
  sums.traffic += next.sums.traffic;
  sums.phases += next.sums.phases;
  sums.seconds += next.sums.seconds;
  sums.uploads += next.sums.uploads;
  sums.uploads_skipped += next.sums.uploads_skipped;
  sums.poisoned = sums.poisoned || next.sums.poisoned;
  take_latest(next.sums.metrics, sums.metrics);
  steps += next.steps;
  losses += next.losses;
  loss_sum += next.loss_sum;
  if (losses > 0) sums.metrics.loss = loss_sum / static_cast<double>(losses);
}

void CondensedRun::add(const StepRecord& step) {
  ++totals_.steps;
  totals_.traffic += step.traffic;
  totals_.uploads += step.uploads;
  totals_.uploads_skipped += step.uploads_skipped;
  totals_.poisoned += step.poisoned ? 1 : 0;
  record::add_late(step, totals_);
  totals_.phases += step.phases;
  totals_.seconds += step.seconds;
  take_latest(step.metrics, totals_.final);
  if (step.note) add_note(step);
  Group group{.sums = step};
  group.sums.note.reset();
  group.sums.attendance.reset();
  group.sums.late.clear();
  if (step.metrics.loss) {
    group.losses = 1;
    group.loss_sum = *step.metrics.loss;
  }
  add_group(std::move(group));
}

void CondensedRun::add_group(Group group) {
  const bool fits = !groups_.empty() && groups_.back().steps < steps_in_group_ &&
                    !groups_.back().has_evaluation();
  if (fits) {
    groups_.back().append(group);
  } else {
    groups_.push_back(std::move(group));
  }
  if (groups_.size() > kGroupsMax) halve_groups();
}

// Neighbours become one, evaluations stay apart. If that frees too little, neighbours become one
// whatever they are, and the earlier evaluation of two is left out.
void CondensedRun::halve_groups() {
  steps_in_group_ *= 2;
  for (const bool keeps_evaluations : {true, false}) {
    std::vector<Group> fewer;
    std::size_t parts = 0;  // of the last one
    for (Group& group : groups_) {
      const bool fits =
          !fewer.empty() && parts < 2 && !(keeps_evaluations && fewer.back().has_evaluation());
      if (fits) {
        fewer.back().append(group);
        ++parts;
      } else {
        fewer.push_back(std::move(group));
        parts = 1;
      }
    }
    groups_ = std::move(fewer);
    if (groups_.size() <= kGroupsMax * 3 / 4) return;
  }
}

void CondensedRun::add_note(const StepRecord& step) {
  const NoteKind& kind = *step.note->kind;
  auto found = std::ranges::find_if(
      notes_, [&](const Notes& each) { return &each.kept.counts.kind() == &kind; });
  if (found == notes_.end()) {
    found = notes_.insert(found, {.kept = {.counts = NoteCounts(kind)}});
  }
  Notes& notes = *found;
  const std::uint64_t index = notes.kept.counts.notes();
  notes.kept.counts.add(step);
  notes.last = step;
  notes.is_last_kept =
      index % notes.stride == chosen_of(index / notes.stride, notes.stride) || index == 0;
  if (!notes.is_last_kept) return;
  std::vector<StepRecord>& steps = notes.kept.steps;
  steps.push_back(step);
  if (steps.size() <= kNotesMax) return;
  std::vector<StepRecord> fewer;
  for (std::size_t i = 0; i + 1 < steps.size(); i += 2) {
    fewer.push_back(std::move(steps[i + (i == 0 ? 0 : chosen_of(i, 2))]));
  }
  steps = std::move(fewer);
  notes.stride *= 2;
  notes.is_last_kept = steps.back().step == step.step;
}

std::vector<StepRecord> CondensedRun::steps() const {
  std::vector<StepRecord> steps;
  steps.reserve(groups_.size());
  for (const Group& group : groups_) steps.push_back(group.sums);
  return steps;
}

std::vector<std::uint64_t> CondensedRun::counts() const {
  std::vector<std::uint64_t> counts;
  counts.reserve(groups_.size());
  for (const Group& group : groups_) counts.push_back(group.steps);
  return counts;
}

std::vector<KeptNotes> CondensedRun::notes() const {
  std::vector<KeptNotes> all;
  for (const Notes& notes : notes_) {
    all.push_back(notes.kept);
    if (!notes.is_last_kept) all.back().steps.push_back(notes.last);
  }
  return all;
}

std::vector<NoteCounts> CondensedRun::note_counts() const {
  std::vector<NoteCounts> counts;
  for (const Notes& notes : notes_) counts.push_back(notes.kept.counts);
  return counts;
}

}  // namespace gradwire::report
