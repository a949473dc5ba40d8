// The candidate settings of a layer, and the bytes, the time and the error of each: the table from
// which L-GreCo plans. Pure functions.
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
#include "gradwire/codec/spec.h"
#include "gradwire/method/method.h"

namespace gradwire {

enum class Family { exact, qsgd, topk, powersgd };

// All families but `exact`, which has no parameter to plan.
std::span<const Family> planned_families();

// The name in specs.
const char* name(Family family);

// A setting that a layer can be sent with.
struct Candidate {
  Family family = Family::exact;
  std::string spec;                         // "none", "qsgd(bits=4)", "topk(1%)"
  std::shared_ptr<const Codec> codec = {};  // null with powersgd
  std::size_t rank = 0;                     // with powersgd
  double parameter = 0;                     // bits, share or rank

  bool is_same(const Candidate& other) const;
  bool has_memory() const { return family == Family::topk || family == Family::powersgd; }
};

struct Candidates {
  std::vector<Candidate> all;  // the exact one first; each family in the order of its parameters
  std::size_t uniform = 0;     // index of the setting of all layers without a plan

  bool has(Family family) const;
};

// The candidate of a spec such as "topk(1%)" or "powersgd(rank=4)". The name of a family alone
// stands for its usual setting. Throws SpecError.
Candidate read_candidate(std::string_view spec);

// The candidate of a family with that parameter: bits, share or rank.
Candidate candidate_of(Family family, double parameter);

// How far the parameters of candidates are from the uniform setting's, as factors.
inline constexpr SpecRange kUsualRange{0.1, 10};

// All candidates of the given families whose parameters are in the range, times that of `uniform`;
// of another family than that of `uniform`, times its usual one. The default of `uniform` is the
// usual setting of the first family: qsgd(bits=4), topk(1%) or powersgd(rank=4).
Candidates make_candidates(std::span<const Family> families, std::optional<Candidate> uniform = {},
                           const SpecRange& range = kUsualRange);

// The index of a candidate, which is added if it is not there.
std::size_t index_of(const Candidate& candidate, Candidates& candidates);

// Whether a layer is worth planning for: of two dimensions or more, and not small.
bool is_planned(const MethodTensor& tensor);

// Whether a layer can be sent with a candidate. Low rank needs a matrix whose factors are smaller.
bool is_possible(const MethodTensor& tensor, const Candidate& candidate);

// The cost of a candidate on the values of a layer.
struct CandidateCost {
  double squared_error = 0;
  double bytes = 0;         // of the message that a worker sends
  double seconds = 0;       // to write it and to read it, on this machine now
  double error_factor = 1;  // observed error over predicted error, from experience
};

struct CostOptions {
  // Larger layers are sampled: this many elements, in stretches all over the layer. Their costs are
  // scaled up. Low rank always uses the whole matrix.
  std::size_t sample_elements = std::size_t(-1);
  Rng rng = {};
};

// One entry for each candidate; empty if the candidate is not possible. Values that are not finite
// give costs that are not finite.
std::vector<std::optional<CandidateCost>> measure_costs(const MethodTensor& tensor,
                                                        std::span<const float> values,
                                                        const Candidates& candidates,
                                                        const CostOptions& options);
CandidateCost measure_cost(const MethodTensor& tensor, std::span<const float> values,
                           const Candidate& candidate, const CostOptions& options);

}  // namespace gradwire
