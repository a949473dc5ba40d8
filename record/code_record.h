// What a method that learns a code said of its steps, as records hold it.
#pragma once

#include <cstdint>

#include "gradwire/method/code_note.h"
#include "record/json_file.h"

namespace gradwire::record {

// {"phase", "error", "is_estimate", "learn_ms", "parts": {name: bytes, ...}, "remark"}. The error
// is null where there is none; a remark is there only where there is something to say.
Json to_json(const CodeNote& note);

// Throws Error that names the field which is missing or of another type.
CodeNote code_note_from(const Json& json);

// What the notes of a run's steps come to.
class CodeTotals {
 public:
  // A step's note, and what a worker sent in that step.
  void add(const CodeNote& note, std::uint64_t bytes_up);

  // {"phases": {name: steps, ...}, "parts": {name: bytes, ...}, "coded_bytes_per_step",
  // "mean_error", "measured_error", "learn_ms"}. Bytes per step and errors are means over the coded
  // steps, the last one over those without an estimate, and null where there are none. Null where
  // nothing was added.
  Json to_json() const;

 private:
  // A sum, and of how many.
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;

    void add(double value);
    Json to_json() const;
  };

  Json phases_ = {{"full", 0}, {"sparse", 0}, {"coded", 0}};
  Json parts_ = Json::object();
  std::uint64_t notes_ = 0;
  Mean coded_bytes_;
  Mean coded_error_;
  Mean measured_error_;
  double learn_seconds_ = 0;
};

}  // namespace gradwire::record
