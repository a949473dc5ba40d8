// PlanNote: what lgreco has decided for the layers, and why. A value type; as a Note it goes to
// logs, records and pages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gradwire/method/note.h"

namespace gradwire {

struct PlanNote {
  struct Layer {
    std::string name;
    std::size_t elements = 0;
    std::string choice;  // "qsgd(bits=4)"; "none" for a layer that is averaged as it is
    double bytes = 0;    // of a worker's message
    double error = 0;    // relative to the layer's own norm
  };

  // With a time budget: the measurements behind it.
  struct Budget {
    double compute_seconds = 0;      // in which gradients become ready, one after the other
    double bytes_per_second = 0;     // of messages, by an exchange on this network
    double latency_seconds = 0;      // of an exchange
    std::size_t groups = 0;          // in which tensors travel
    double hidden_room_seconds = 0;  // that all groups but the last can hide behind
    double hidden_seconds = 0;       // that they should take by the plan
    double visible_seconds = 0;      // that the last one should take, which nothing hides
  };

  std::string reason = {};         // a sentence
  std::vector<Layer> layers = {};  // all tensors
  double bytes = 0;                // of the layers that are planned for
  double uniform_bytes = 0;        // without a plan
  double error = 0;                // relative to the gradient, in the measure that is planned by
  double uniform_error = 0;
  double seconds = 0;  // that statistics and planning took on this rank since the last plan
  std::optional<Budget> budget = {};
};

// In records `plan` in the line of its step, and `plans` of the run: all of them.
const NoteKind& plan_note_kind();
Note to_note(const PlanNote& plan);

}  // namespace gradwire
