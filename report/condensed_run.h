// CondensedRun: a run whose steps arrive one after the other, kept in bounded memory for its page.
// Totals are exact. When there are more steps than fit, neighbours become one: bytes and seconds
// are added up, so that every point of a curve still stands where its last step stood, and losses
// are averaged. Evaluations stay apart as long as they fit. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/page.h"

namespace gradwire::report {

class CondensedRun {
 public:
  // A page draws at most 600 points of a curve, and 600 columns of notes (300 where bands change).
  static constexpr std::size_t kGroupsMax = 2400;
  static constexpr std::size_t kNotesMax = 1200;  // of a kind

  // Steps come in their order.
  void add(const record::StepRecord& step);

  // Of all steps: traffic, uploads, phases, seconds, the number of steps, and the latest value of
  // each metric. The caller knows the other fields.
  const record::RunRecord& totals() const { return totals_; }

  std::vector<record::StepRecord> steps() const;
  std::vector<std::uint64_t> counts() const;  // of steps that are added up in each of them
  std::vector<KeptNotes> notes() const;
  std::vector<NoteCounts> note_counts() const;

 private:
  // Neighbouring steps.
  struct Group {
    record::StepRecord sums;  // its number and its evaluation are those of the last step
    std::uint64_t steps = 1;
    std::uint64_t losses = 0;
    double loss_sum = 0;

    bool has_evaluation() const;
    void append(const Group& next);
  };
  // All notes of a kind are counted, some are kept: of every `stride` neighbours one, and the last.
  struct Notes {
    KeptNotes kept;
    std::uint64_t stride = 1;
    record::StepRecord last = {};
    bool is_last_kept = false;
  };

  void add_group(Group group);
  void halve_groups();
  void add_note(const record::StepRecord& step);

  record::RunRecord totals_;
  std::vector<Group> groups_;
  std::uint64_t steps_in_group_ = 1;  // of a group that is full
  std::vector<Notes> notes_;
};

}  // namespace gradwire::report
