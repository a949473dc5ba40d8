// PlanNote: what a method that plans layer by layer has decided, and why, for logs and records. A
// value type.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

struct PlanNote {
  struct Layer {
    std::string name;
    std::size_t elements = 0;
    std::string choice;  // "qsgd(bits=4)"; "none" for what is averaged as it is
    double bytes = 0;    // of a worker's message
    double error = 0;    // relative to the layer's own norm
  };

  // With a time budget: what was measured.
  struct Budget {
    double compute_seconds = 0;      // in which gradients become ready, one after the other
    double bytes_per_second = 0;     // of messages, by an exchange on this network
    double latency_seconds = 0;      // of an exchange
    std::size_t groups = 0;          // in which tensors travel
    double hidden_room_seconds = 0;  // that all groups but the last can hide behind
    double hidden_seconds = 0;       // that they should take by the plan
    double visible_seconds = 0;      // that the last one should take, which nothing hides
  };

  std::string reason;         // a sentence
  std::vector<Layer> layers;  // all tensors
  double bytes = 0;           // of the layers that are planned for
  double uniform_bytes = 0;   // without a plan
  double error = 0;           // relative to the gradient, in the measure that is planned by
  double uniform_error = 0;
  double seconds = 0;  // that statistics and planning took on this rank since the last plan
  std::optional<Budget> budget = {};
};

}  // namespace gradwire
