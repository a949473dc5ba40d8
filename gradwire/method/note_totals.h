// NoteTotals: what the notes of a run add up to, by the rules of their kind. For one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/core/telemetry.h"
#include "gradwire/method/note.h"

namespace gradwire {

class NoteTotals {
 public:
  explicit NoteTotals(const NoteKind& kind);

  // A note, and the traffic of its step.
  void add(const Note& note, const Traffic& traffic);

  struct Entry {
    std::string name;
    std::uint64_t count = 0;
  };
  // One of the kind's totals.
  struct Total {
    double sum = 0;
    std::uint64_t count = 0;     // how many numbers were added up, or notes counted
    std::vector<Entry> entries;  // of a text by value, of a table by row
  };

  const NoteKind& kind() const { return *kind_; }
  std::size_t notes() const { return notes_; }
  const std::vector<Total>& totals() const { return totals_; }  // as in the kind

  // Whether it has entries: of a text by value, or of a table by row.
  bool is_by_name(std::size_t total) const;
  // A sum, a mean or a count of notes; nothing for the mean of no number.
  std::optional<double> number(std::string_view total) const;
  std::optional<double> number(std::size_t total) const;
  // How often the text had the value, or what the row adds up to.
  std::uint64_t count(std::string_view total, std::string_view entry) const;

 private:
  const NoteKind* kind_;
  std::size_t notes_ = 0;
  std::vector<Total> totals_;
};

}  // namespace gradwire
