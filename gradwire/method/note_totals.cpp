#include "gradwire/method/note_totals.h"

#include <algorithm>
#include <cmath>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

bool is_counted(const NoteTotal& rule, const Note& note) {
  return std::ranges::all_of(
      rule.only, [&](const auto& wanted) { return note.get(wanted.first) == wanted.second; });
}

std::uint64_t& entry_of(NoteTotals::Total& total, const std::string& name) {
  auto found = std::ranges::find(total.entries, name, &NoteTotals::Entry::name);
  if (found == total.entries.end()) found = total.entries.insert(found, {.name = name});
  return found->count;
}

void add_number(std::optional<double> number, bool is_mean, NoteTotals::Total& total) {
  if (!number || (is_mean && !std::isfinite(*number))) return;
  total.sum += *number;
  ++total.count;
}

void add_table(const NoteTotal& rule, const Note& note, NoteTotals::Total& total) {
  if (rule.how == NoteTotal::How::count) {
    total.count += note.rows.empty() ? 0 : 1;
    return;
  }
  for (const std::vector<NoteValue>& row : note.rows) {
    const auto* count = std::get_if<std::uint64_t>(&row[1]);
    entry_of(total, text_of(row[0])) += count != nullptr ? *count : 0;
  }
}

}  // namespace

NoteTotals::NoteTotals(const NoteKind& kind) : kind_(&kind), totals_(kind.totals.size()) {
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    const NoteTotal& rule = kind.totals[i];
    if (rule.how != NoteTotal::How::count || rule.of == kBytesSent) continue;
    for (const std::string& word : kind.fields[kind.index_of(rule.of)].words) {
      totals_[i].entries.push_back({.name = word});
    }
  }
}

void NoteTotals::add(const Note& note, const Traffic& traffic) {
  GW_CHECK(note.kind == kind_);
  ++notes_;
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    const NoteTotal& rule = kind_->totals[i];
    if (!is_counted(rule, note)) continue;
    const bool is_mean = rule.how == NoteTotal::How::mean;
    if (rule.of == kBytesSent) {
      add_number(static_cast<double>(traffic.bytes_sent), is_mean, totals_[i]);
    } else if (kind_->fields[kind_->index_of(rule.of)].type == NoteField::Type::table) {
      add_table(rule, note, totals_[i]);
    } else if (rule.how == NoteTotal::How::count) {
      ++entry_of(totals_[i], text_of(note.get(rule.of)));
    } else {
      add_number(number_of(note.get(rule.of)), is_mean, totals_[i]);
    }
  }
}

bool NoteTotals::is_by_name(std::size_t total) const {
  const NoteTotal& rule = kind_->totals[total];
  if (rule.of == kBytesSent || rule.how == NoteTotal::How::mean) return false;
  const bool is_table = kind_->fields[kind_->index_of(rule.of)].type == NoteField::Type::table;
  return is_table == (rule.how == NoteTotal::How::sum);
}

std::optional<double> NoteTotals::number(std::size_t total) const {
  const Total& added = totals_[total];
  const auto count = static_cast<double>(added.count);
  switch (kind_->totals[total].how) {
    case NoteTotal::How::sum:
      return added.sum;
    case NoteTotal::How::count:
      return count;
    case NoteTotal::How::mean:
      break;
  }
  return added.count == 0 ? std::nullopt : std::optional(added.sum / count);
}

std::optional<double> NoteTotals::number(std::string_view total) const {
  const auto found = std::ranges::find(kind_->totals, total, &NoteTotal::name);
  GW_CHECK(found != kind_->totals.end());
  return number(static_cast<std::size_t>(found - kind_->totals.begin()));
}

std::uint64_t NoteTotals::count(std::string_view total, std::string_view entry) const {
  const auto found = std::ranges::find(kind_->totals, total, &NoteTotal::name);
  GW_CHECK(found != kind_->totals.end());
  const auto& entries = totals_[static_cast<std::size_t>(found - kind_->totals.begin())].entries;
  const auto counted = std::ranges::find(entries, entry, &Entry::name);
  return counted == entries.end() ? 0 : counted->count;
}

}  // namespace gradwire
