// What a layer can be sent by, and what each of that would cost it: the table that L-GreCo plans
// by. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/method/method.h"

namespace gradwire {

enum class Family { exact, qsgd, topk, powersgd };

// Those that layers are planned with: all but the exact one, which has no parameter.
std::span<const Family> planned_families();

// As specs have it.
const char* name(Family family);

// One way to send a layer.
struct Candidate {
  Family family = Family::exact;
  std::string spec;                         // "none", "qsgd(bits=4)", "topk(1%)"
  std::shared_ptr<const Codec> codec = {};  // null with powersgd
  std::size_t rank = 0;                     // with powersgd

  bool is_same(const Candidate& other) const;
  bool has_memory() const { return family == Family::topk || family == Family::powersgd; }
};

struct Candidates {
  std::vector<Candidate> all;  // the exact one first; of a family in the order of its parameters
  std::size_t uniform = 0;     // the one that all layers would have without a plan

  bool has(Family family) const;
};

// The one that a spec such as "topk(1%)" or "powersgd(rank=4)" names; a family alone stands for its
// usual one. Throws SpecError.
Candidate read_candidate(std::string_view spec);

// Those of the given families. Without `uniform` it is qsgd(bits=4), topk(1%) or powersgd(rank=4),
// after the first family.
Candidates make_candidates(std::span<const Family> families, std::optional<Candidate> uniform = {});

// Whether a layer is worth planning for: of two dimensions or more, and not small.
bool is_planned(const MethodTensor& tensor);

// Whether a layer can be sent by a candidate. Low rank is for matrices that it makes smaller.
bool is_possible(const MethodTensor& tensor, const Candidate& candidate);

// What a candidate would do to some values of a layer.
struct CandidateCost {
  double squared_error = 0;
  double bytes = 0;         // of the message that a worker sends
  double seconds = 0;       // to write it and to read it, on this machine now
  double error_factor = 1;  // how many times as much, by experience, a layer's error is in the end
};

struct CostOptions {
  // Of larger layers no more elements than this are looked at, in stretches all over the layer, and
  // what they cost is scaled. Low rank is always worked out on the whole matrix.
  std::size_t sample_elements = std::size_t(-1);
  Rng rng = {};
};

// By candidate; nothing for those that are not possible, or not asked for. Values that are not
// finite give costs that are not.
std::vector<std::optional<CandidateCost>> measure_costs(const MethodTensor& tensor,
                                                        std::span<const float> values,
                                                        const Candidates& candidates,
                                                        const CostOptions& options);
CandidateCost measure_cost(const MethodTensor& tensor, std::span<const float> values,
                           const Candidate& candidate, const CostOptions& options);

}  // namespace gradwire
