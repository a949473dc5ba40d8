#include "gradwire/method/lgreco/layer_candidates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "gradwire/codec/spec.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/powersgd/low_rank_tensor.h"
#include "gradwire/method/powersgd/matrix.h"
#include "gradwire/method/powersgd/powersgd.h"

namespace gradwire {
namespace {

constexpr std::size_t kPlannedElementsMin = 256;
constexpr std::size_t kBitsMin = 2;
constexpr std::size_t kBitsMax = 8;
constexpr std::array kShares = {0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.0007, 0.001, 0.0015,
                                0.002,  0.003,   0.005,  0.007,  0.01,   0.015,  0.02,  0.03,
                                0.05,   0.07,    0.1,    0.15,   0.2,    0.3,    0.5};
constexpr std::array<std::size_t, 12> kRanks = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
// A stretch of a sample: a multiple of all buckets.
constexpr std::size_t kStretch = 4096;

Candidate quantised(std::size_t bits) {
  const std::string spec = "qsgd(bits=" + std::to_string(bits) + ')';
  return {.family = Family::qsgd,
          .spec = spec,
          .codec = make_codec(spec),
          .parameter = static_cast<double>(bits)};
}

Candidate sparse(double share) {
  const std::string spec = "topk(" + format_share(share) + ')';
  return {.family = Family::topk, .spec = spec, .codec = make_codec(spec), .parameter = share};
}

Candidate low_rank(std::size_t rank) {
  return {.family = Family::powersgd,
          .spec = powersgd_spec(rank),
          .rank = rank,
          .parameter = static_cast<double>(rank)};
}

constexpr std::array kPlanned = {Family::qsgd, Family::topk, Family::powersgd};

// What a family's name alone stands for.
Candidate usual_candidate(Family family) {
  switch (family) {
    case Family::exact:
      break;
    case Family::qsgd:
      return quantised(4);
    case Family::topk:
      return sparse(0.01);
    case Family::powersgd:
      return low_rank(4);
  }
  std::shared_ptr<const Codec> plain = make_plain_codec();
  return {.family = Family::exact, .spec = plain->spec(), .codec = plain};
}

std::vector<Candidate> all_of(Family family) {
  std::vector<Candidate> all;
  switch (family) {
    case Family::exact:
      break;
    case Family::qsgd:
      for (std::size_t bits = kBitsMin; bits <= kBitsMax; ++bits) all.push_back(quantised(bits));
      break;
    case Family::topk:
      for (const double share : kShares) all.push_back(sparse(share));
      break;
    case Family::powersgd:
      for (const std::size_t rank : kRanks) all.push_back(low_rank(rank));
      break;
  }
  return all;
}

// The parameter that a stage names, or nothing: "topk(1%)", "qsgd(bits=4)".
std::optional<double> given_parameter(const SpecStage& stage, Family family) {
  for (const SpecArgument& argument : stage.arguments) {
    const bool is_first = family == Family::topk && argument.key.empty();
    if (is_first || argument.key == (family == Family::topk ? "share" : "bits")) {
      return argument.number;
    }
  }
  return std::nullopt;
}

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double sum_of_squares(std::span<const float> values) { return kernel::moments(values).squares; }

// All values, or stretches that are spread evenly.
class Sample {
 public:
  Sample(std::span<const float> values, std::size_t elements_max) : values_(values) {
    const std::size_t wanted = std::max(kStretch, elements_max / kStretch * kStretch);
    if (values.size() <= elements_max || values.size() <= wanted) return;
    const std::size_t stretches = wanted / kStretch;
    const std::size_t whole = values.size() / kStretch;
    for (std::size_t i = 0; i < stretches; ++i) {
      const auto stretch = values.subspan(i * whole / stretches * kStretch, kStretch);
      copy_.insert(copy_.end(), stretch.begin(), stretch.end());
    }
    bytes_scale_ = static_cast<double>(values.size()) / static_cast<double>(copy_.size());
    // A sample with larger values than the rest is to lose as large a part of the whole.
    const double squares = sum_of_squares(copy_);
    error_scale_ = squares > 0 ? sum_of_squares(values) / squares : bytes_scale_;
    values_ = copy_;
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  std::span<const float> values() const { return values_; }
  double bytes_scale() const { return bytes_scale_; }
  double error_scale() const { return error_scale_; }

 private:
  std::span<const float> values_;
  std::vector<float> copy_;
  double bytes_scale_ = 1;
  double error_scale_ = 1;
};

// Encodes and decodes for real.
class Trial {
 public:
  explicit Trial(const Rng& rng) : rng_(rng) {}

  CandidateCost run(const Codec& codec, const Sample& sample) {
    const std::span<const float> values = sample.values();
    payload_.resize(codec.payload_bytes_max(values.size()));
    decoded_.resize(values.size());
    const Timer timer;
    codec.measure(values, rng_, measured_);
    const Encoded encoded =
        codec.encode(measured_, {.values = values, .first = 0}, rng_, payload_, workspace_);
    const auto payload = std::span<const std::byte>(payload_).first(encoded.bytes);
    const bool is_decoded = codec.decode(payload, decoded_, workspace_).has_value();
    const double seconds = timer.seconds();
    kernel::combine(1, values, -1, decoded_, decoded_);
    const bool is_good = is_decoded && encoded.finite;
    return {
        .squared_error = is_good ? sample.error_scale() * sum_of_squares(decoded_) : std::nan(""),
        .bytes = sample.bytes_scale() * static_cast<double>(encoded.bytes),
        .seconds = sample.bytes_scale() * seconds};
  }

 private:
  Rng rng_;
  Scale measured_;
  Workspace workspace_;
  std::vector<std::byte> payload_;
  std::vector<float> decoded_;
};

// How much of a matrix's square each further direction holds, the greatest first: by orthogonal
// iteration, whose columns settle in that order. The first r of them are what rank r keeps.
struct Directions {
  std::vector<double> squares;
  double total = 0;
  double seconds = 0;  // of one step of powersgd, for each rank
};

Directions find_directions(const MatrixSize& size, std::span<const float> matrix, const Rng& rng) {
  constexpr std::size_t kIterations = 2;
  const auto fill = [&](std::size_t stage, std::span<float> values) {
    const RandomStream random = rng.stream(static_cast<std::uint32_t>(stage), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto number = static_cast<std::int32_t>(random.at(static_cast<std::uint32_t>(i)));
      values[i] = static_cast<float>(number) * 0x1p-31F;
    }
  };
  std::vector<float> left(size.left_elements());
  std::vector<float> right(size.right_elements());
  fill(0, right);
  const Timer timer;
  for (std::size_t i = 0; i < kIterations; ++i) {
    normalise(size.columns, right);
    multiply(size, matrix, right, left);
    orthonormalise(size.rows, left,
                   [&](std::size_t column, std::size_t attempt, std::span<float> values) {
                     fill(1 + column + size.rank * attempt, values);
                   });
    multiply_transposed(size, matrix, left, right);
  }
  // Two products to write a matrix, and two more to read it and for the memory.
  const double seconds = 2 * timer.seconds() / kIterations / static_cast<double>(size.rank);
  Directions found{.squares = {}, .total = sum_of_squares(matrix), .seconds = seconds};
  for (std::size_t i = 0; i < size.rank; ++i) {
    const auto column = std::span<const float>(right).subspan(i * size.columns, size.columns);
    found.squares.push_back(sum_of_squares(column));
  }
  return found;
}

CandidateCost low_rank_cost(const MethodTensor& tensor, std::size_t rank,
                            const Directions& directions) {
  const MatrixSize size = LowRankTensor::compressed_size(tensor, rank).value();
  double rest = directions.total;
  for (std::size_t i = 0; i < size.rank; ++i) rest -= directions.squares[i];
  // What is left of a matrix that is kept in full is rounding.
  return {.squared_error = std::isfinite(directions.total) ? std::max(rest, 0.0) : std::nan(""),
          .bytes = static_cast<double>(sizeof(float)) *
                   static_cast<double>(size.left_elements() + size.right_elements()),
          .seconds = directions.seconds * static_cast<double>(size.rank)};
}

}  // namespace

bool Candidate::is_same(const Candidate& other) const {
  if (!codec || !other.codec) return !codec && !other.codec && rank == other.rank;
  return codec->spec() == other.codec->spec();
}

bool Candidates::has(Family family) const {
  return std::ranges::find(all, family, &Candidate::family) != all.end();
}

std::span<const Family> planned_families() { return kPlanned; }

const char* name(Family family) {
  switch (family) {
    case Family::exact:
      break;
    case Family::qsgd:
      return "qsgd";
    case Family::topk:
      return "topk";
    case Family::powersgd:
      return "powersgd";
  }
  return "none";
}

Candidate read_candidate(std::string_view text) {
  const Spec spec = parse_spec(text);
  const SpecStage& stage = spec.stages.front();
  for (const Family family : {Family::powersgd, Family::exact, Family::qsgd, Family::topk}) {
    if (spec.stages.size() > 1 || stage.name != name(family)) continue;
    if (stage.arguments.empty()) return usual_candidate(family);
    if (family == Family::powersgd) {
      StageReader reader(text, stage);
      const std::size_t rank = read_factor_rank(reader);
      reader.finish();
      return low_rank(rank);
    }
    const std::shared_ptr<const Codec> codec = make_codec(text);
    const double usual = usual_candidate(family).parameter;
    return {.family = family,
            .spec = codec->spec(),
            .codec = codec,
            .parameter = given_parameter(stage, family).value_or(usual)};
  }
  fail_at(text, stage.position, "a layer is sent by qsgd, topk, powersgd or none");
}

Candidate candidate_of(Family family, double parameter) {
  switch (family) {
    case Family::exact:
      break;
    case Family::qsgd:
      return quantised(static_cast<std::size_t>(parameter));
    case Family::topk:
      return sparse(parameter);
    case Family::powersgd:
      return low_rank(static_cast<std::size_t>(parameter));
  }
  return usual_candidate(Family::exact);
}

Candidates make_candidates(std::span<const Family> families, std::optional<Candidate> uniform,
                           const SpecRange& range) {
  Candidates candidates;
  candidates.all.push_back(usual_candidate(Family::exact));
  if (!uniform) uniform = usual_candidate(families.front());
  constexpr double kRounding = 1e-9;
  for (const Family family : families) {
    const double centre =
        family == uniform->family ? uniform->parameter : usual_candidate(family).parameter;
    for (Candidate& candidate : all_of(family)) {
      const double factor = candidate.parameter / centre;
      if (factor < range.from * (1 - kRounding) || factor > range.to * (1 + kRounding)) continue;
      candidates.all.push_back(std::move(candidate));
    }
  }
  candidates.uniform = index_of(*uniform, candidates);
  return candidates;
}

std::size_t index_of(const Candidate& candidate, Candidates& candidates) {
  const auto found = std::ranges::find_if(
      candidates.all, [&](const Candidate& other) { return other.is_same(candidate); });
  const auto index = static_cast<std::size_t>(found - candidates.all.begin());
  if (found == candidates.all.end()) candidates.all.push_back(candidate);
  return index;
}

bool is_planned(const MethodTensor& tensor) {
  return tensor.shape.size() >= 2 && tensor.elements() >= kPlannedElementsMin;
}

bool is_possible(const MethodTensor& tensor, const Candidate& candidate) {
  return candidate.family != Family::powersgd ||
         LowRankTensor::compressed_size(tensor, candidate.rank).has_value();
}

std::vector<std::optional<CandidateCost>> measure_costs(const MethodTensor& tensor,
                                                        std::span<const float> values,
                                                        const Candidates& candidates,
                                                        const CostOptions& options) {
  std::vector<std::optional<CandidateCost>> costs(candidates.all.size());
  const Sample sample(values, options.sample_elements);
  Trial trial(options.rng);
  std::size_t rank = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Candidate& candidate = candidates.all[i];
    if (!is_possible(tensor, candidate)) continue;
    if (candidate.family == Family::powersgd) {
      rank = std::max(rank, candidate.rank);
    } else {
      costs[i] = trial.run(*candidate.codec, sample);
    }
  }
  if (rank == 0) return costs;
  const MatrixSize size = LowRankTensor::compressed_size(tensor, rank).value();
  const Directions directions = find_directions(size, values, options.rng);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Candidate& candidate = candidates.all[i];
    if (candidate.family == Family::powersgd && is_possible(tensor, candidate)) {
      costs[i] = low_rank_cost(tensor, candidate.rank, directions);
    }
  }
  return costs;
}

CandidateCost measure_cost(const MethodTensor& tensor, std::span<const float> values,
                           const Candidate& candidate, const CostOptions& options) {
  const Candidates one{.all = {candidate}, .uniform = 0};
  return measure_costs(tensor, values, one, options).front().value();
}

}  // namespace gradwire
