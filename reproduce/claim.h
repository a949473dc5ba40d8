// Claim: the published figures and the measured ones, side by side. Value types, their JSON and
// their text.
#pragma once

#include <string>
#include <vector>

#include "record/json_file.h"

namespace gradwire::reproduce {

// How much of what a verdict needs was measured, from the most to the least.
enum class Extent { whole, part, nothing };

struct ClaimRow {
  std::string what;           // "second moment at most 9/8"
  std::string published;      // as the publication has it, with the number
  std::string measured;       // with the number
  bool holds = false;         // computed from the measurements
  bool is_timing = false;     // about time: the verdict may differ on another machine
  std::string reason = {};    // the likely reason if it does not hold, or a remark
  std::string headline = {};  // short words for it in a summary; empty: it is not in there
  Extent extent = Extent::whole;

  bool operator==(const ClaimRow&) const = default;
};

struct Curve {
  std::string label;
  std::vector<double> x, y;  // of the same length

  bool operator==(const Curve&) const = default;
};

struct Picture {
  std::string name;  // of the file, without extension
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;
  bool log_y = false;
  std::vector<Curve> curves;
  std::vector<std::string> x_names = {};  // of the places 1, 2, ..., instead of numbers

  bool operator==(const Picture&) const = default;
};

struct ClaimTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as the header

  bool operator==(const ClaimTable&) const = default;
};

struct Claim {
  std::string name;
  std::string title = {};  // see ClaimEntry
  std::vector<ClaimRow> rows;
  std::vector<ClaimTable> tables;
  std::vector<Picture> pictures;
  std::string setting = {};  // data, networks and workers of the measurement
  std::string missing = {};  // what it was measured without; empty: nothing

  bool operator==(const Claim&) const = default;
};

// "holds", "does not hold", "partial" or "not measured".
std::string verdict_of(const ClaimRow& row);
// It was measured as a whole, and does not hold.
bool fails(const ClaimRow& row);

// {"claim", "title", "setting", "missing", "rows", "tables", "pictures"}
record::Json to_json(const Claim& claim);
// Throws nlohmann's exceptions for a document that to_json did not make.
Claim claim_from(const record::Json& document);

// The rows as a table, then the remarks on some of them, then the other tables.
std::string claim_text(const Claim& claim);

}  // namespace gradwire::reproduce
