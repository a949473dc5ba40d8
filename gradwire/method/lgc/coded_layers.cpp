#include "gradwire/method/lgc/coded_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/core/bytes.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/core/stop_watch.h"
#include "gradwire/kernel/combine.h"
#include "gradwire/kernel/sums.h"
#include "gradwire/method/step_order.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

constexpr const char* kError = "error";
constexpr const char* kCode = "code";
constexpr const char* kIndices = "history of indices";
constexpr const char* kOwnError = "own error of the code";
constexpr const char* kErrorFactor = "factor of errors of the code";

// How much of that factor is new at every step with exact values.
constexpr double kNewShare = 0.1;

// Of a leader's message: its error, what stands for the code and the indices that it has learned
// from, and how many bytes of code come before the indices.
constexpr std::size_t kLeadHeaderBytes = 12;
constexpr std::size_t kLeadLearnedAt = 4;
constexpr std::size_t kLeadCodeAt = 8;

std::vector<LayerShape> shapes_of(const std::vector<MethodTensor>& tensors) {
  std::vector<LayerShape> shapes;
  for (const MethodTensor& tensor : tensors) {
    LayerShape shape{.rows = tensor.shape.front()};
    shape.columns = tensor.elements() / shape.rows;
    if (tensor.shape.size() > 2) {
      shape.kernel = shape.columns / tensor.shape[1];
      shape.width = tensor.shape.back();
    }
    shapes.push_back(shape);
  }
  return shapes;
}

double norm(std::span<const float> values) { return std::sqrt(kernel::moments(values).squares); }

}  // namespace

CodedLayers::CodedLayers(Communicator& communicator, std::vector<MethodTensor> tensors,
                         const LgcOptions& options, const MethodOptions& method)
    : rank_(communicator.rank()),
      ranks_(communicator.size()),
      seed_(method.seed),
      tensors_(std::move(tensors)),
      message_(shapes_of(tensors_), options.share, options.values),
      wanted_(total_elements(tensors_)),
      errors_(wanted_.size()),
      rates_(tensors_) {
  const CodeSchemeSetup setup{.options = options,
                              .values_max = message_.indices_max(),
                              .topology = method.topology,
                              .server = method.server,
                              .seed = method.seed};
  scheme_ = options.instance == LgcInstance::ring ? make_ring_scheme(communicator, setup)
                                                  : make_server_scheme(communicator, setup);
  const auto hub =
      traits_of(method.topology).has_server ? std::optional(method.server) : std::nullopt;
  leads_ = std::make_unique<AllGather>(
      communicator, AllGather::Options{.name = "leader",
                                       .bytes_max = kLeadHeaderBytes + message_.bytes_max() +
                                                    scheme_->lead_bytes(message_.indices_max()),
                                       .hub = hub});
  values_ = std::make_unique<AllGather>(
      communicator,
      AllGather::Options{
          .name = "values", .bytes_max = message_.indices_max() * sizeof(float), .hub = hub});
  note_learned();
}

// --- A step ---

CodedLayers::Outcome CodedLayers::run(const StepContext& context,
                                      std::span<const std::span<float>> gradients, bool is_exact) {
  const LgcStep turn{.step = context.step, .leader = context.step % ranks_};
  Outcome outcome;
  outcome.report.uploads = 1;
  add_errors(context, gradients);
  bool is_poison = !kernel::is_finite_magnitude(kernel::largest_magnitude(wanted_));
  std::vector<std::byte> lead_bytes;
  if (rank_ == turn.leader) {
    const StopWatch watch(outcome.report.phases.encode_seconds);
    lead_bytes = write_lead(turn, is_exact, is_poison);
  }
  const ExchangeReport heard = leads_->run(
      {.step = turn.step, .author = turn.leader, .own = lead_bytes, .is_poison = is_poison});
  bool is_good = !heard.poisoned;
  if (is_good) {
    const Lead lead = read_lead(turn, is_exact);
    count_lead(turn, heard, lead.code.size(), outcome);
    is_good = is_exact ? run_exact(turn, lead.indices, is_poison, outcome)
                       : run_coded(turn, lead, is_poison, outcome);
    if (is_good) commit(context, lead.indices, gradients);
  } else {
    count_lead(turn, heard, 0, outcome);
  }
  if (is_good) return outcome;
  for (const std::span<float> gradient : gradients) {
    std::ranges::fill(gradient, std::numeric_limits<float>::quiet_NaN());
  }
  return outcome;
}

void CodedLayers::add_errors(const StepContext& context,
                             std::span<const std::span<float>> gradients) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::size_t count = gradients[i].size();
    kernel::combine(context.weight, gradients[i], rates_.factor(i, context),
                    std::span<const float>(errors_).subspan(first, count),
                    std::span(wanted_).subspan(first, count));
    first += count;
  }
}

std::vector<std::byte> CodedLayers::write_lead(const LgcStep& turn, bool is_exact,
                                               bool& is_poison) {
  const Rng rng{.seed = seed_,
                .step = turn.step,
                .tensor = Rng::tensor_id("places"),
                .rank = static_cast<std::uint32_t>(rank_)};
  const IndexMessage::Written written = message_.write(wanted_, rng);
  is_poison = is_poison || !written.is_finite;
  std::vector<std::byte> code;
  const bool has_code = scheme_->lead_bytes(message_.indices_max()) > 0;
  if (has_code && !is_exact && !is_poison) {
    const auto indices = message_.read(written.bytes);
    GW_CHECK(indices.has_value());
    code = scheme_->lead(pick(*indices, wanted_));
  }
  std::vector<std::byte> bytes(kLeadHeaderBytes + code.size() + written.bytes.size());
  store_le(std::span(bytes), 0, own_error_);
  store_le(std::span(bytes), kLeadLearnedAt, learned_ ^ message_.mark());
  store_le(std::span(bytes), kLeadCodeAt, static_cast<std::uint32_t>(code.size()));
  const auto rest = std::ranges::copy(code, bytes.begin() + kLeadHeaderBytes).out;
  std::ranges::copy(written.bytes, rest);
  return bytes;
}

CodedLayers::Lead CodedLayers::read_lead(const LgcStep& turn, bool is_exact) {
  const auto refuse = [&](const std::string& why) { leads_->refuse(turn.leader, why); };
  const std::span<const std::byte> bytes = leads_->from(turn.leader);
  if (bytes.size() < kLeadHeaderBytes) refuse("a leader's message that is too short");
  if (load_le<std::uint32_t>(bytes, kLeadLearnedAt) != (learned_ ^ message_.mark())) {
    refuse("it has learned another code than rank " + std::to_string(rank_) +
           ": start all ranks with the same gradwire, from states of the same step");
  }
  const std::size_t code_bytes = load_le<std::uint32_t>(bytes, kLeadCodeAt);
  if (bytes.size() - kLeadHeaderBytes < code_bytes) refuse("it ends within its code");
  auto indices = message_.read(bytes.subspan(kLeadHeaderBytes + code_bytes));
  if (!indices) refuse(std::string("of its indices, ") + indices.error().what);
  if (code_bytes != (is_exact ? 0 : scheme_->lead_bytes(indices->size()))) {
    refuse("its code has " + std::to_string(code_bytes) + " bytes");
  }
  return {.indices = std::move(*indices),
          .code = bytes.subspan(kLeadHeaderBytes, code_bytes),
          .error = load_le<float>(bytes, 0)};
}

// What is sent of a leader's message is for the indices, but for the code in it. A hub sends it,
// too.
void CodedLayers::count_lead(const LgcStep& turn, const ExchangeReport& report,
                             std::size_t code_bytes, Outcome& outcome) const {
  outcome.report.add(report);
  const std::size_t frame = kFrameHeaderBytes + leads_->from(turn.leader).size();
  const std::uint64_t code = report.traffic.bytes_sent / frame * code_bytes;
  outcome.code_bytes += code;
  outcome.index_bytes += report.traffic.bytes_sent - code;
}

// All ranks know all values: the mean is exact, nothing stays behind, and the code learns.
bool CodedLayers::run_exact(const LgcStep& turn, const SharedIndices& indices, bool is_poison,
                            Outcome& outcome) {
  sent_.resize(indices.size());
  std::vector<std::byte> own(indices.size() * sizeof(float));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    sent_[i] = wanted_[indices.at[i]];
    store_le(std::span(own), i * sizeof(float), sent_[i]);
  }
  const ExchangeReport report =
      values_->run({.step = turn.step, .own = own, .is_poison = is_poison});
  outcome.report.add(report);
  outcome.value_bytes = report.traffic.bytes_sent;
  if (report.poisoned) return false;
  own_error_ = 0;  // nothing was lost
  std::vector<std::vector<float>> vectors(ranks_, std::vector<float>(indices.size()));
  mean_.assign(indices.size(), 0);
  const float share = 1 / static_cast<float>(ranks_);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const std::span<const std::byte> page = values_->from(rank);
    if (page.size() != own.size()) values_->refuse(rank, "values for other indices");
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto value = load_le<float>(page, i * sizeof(float));
      mean_[i] += share * value;
      vectors[rank][i] = in_units(value, indices.units[i]);
    }
  }
  if (indices.size() > 0) learn(turn, indices, vectors, outcome);
  return true;
}

// First, what the code would have lost: of the mean, and by what ranks know of their own.
void CodedLayers::learn(const LgcStep& turn, const SharedIndices& indices,
                        std::span<const std::vector<float>> vectors, Outcome& outcome) {
  const StopWatch watch(outcome.learn_seconds);
  const std::vector<std::vector<float>> made = scheme_->rehearse(turn, vectors);
  std::vector<float> lost(indices.size());
  std::vector<float> lost_of_mean(indices.size());
  const float share = 1 / static_cast<float>(ranks_);
  double own = 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    for (std::size_t i = 0; i < lost.size(); ++i) {
      lost[i] = indices.units[i] * (vectors[rank][i] - made[rank][i]);
      lost_of_mean[i] += share * lost[i];
    }
    own += norm(lost) * double{share};
  }
  const double error = norm(lost_of_mean) / norm(mean_);
  const double factor = norm(lost_of_mean) / own;
  if (std::isfinite(factor)) error_factor_ += kNewShare * (factor - error_factor_);
  outcome.error = error;
  scheme_->learn(turn, vectors);
  note_learned();
}

bool CodedLayers::run_coded(const LgcStep& turn, const Lead& lead, bool is_poison,
                            Outcome& outcome) {
  const SharedIndices& indices = lead.indices;
  CodeScheme::Outcome coded = scheme_->exchange(turn, lead.code, pick(indices, wanted_), is_poison);
  outcome.report.add(coded.report);
  outcome.code_bytes += coded.report.traffic.bytes_sent;
  if (coded.report.poisoned) return false;
  sent_ = std::move(coded.own);
  mean_ = std::move(coded.mean);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    sent_[i] *= indices.units[i];
    mean_[i] *= indices.units[i];
  }
  if (lead.error > 0) outcome.error = error_factor_ * double{lead.error};
  outcome.is_estimate = true;
  note_own_error(indices);
  return true;
}

void CodedLayers::note_learned() {
  const std::vector<float> code = scheme_->code().save();
  learned_ = static_cast<std::uint32_t>(checksum(std::as_bytes(std::span(code))));
}

void CodedLayers::note_own_error(const SharedIndices& indices) {
  std::vector<float> lost(indices.size());
  for (std::size_t i = 0; i < lost.size(); ++i) lost[i] = wanted_[indices.at[i]] - sent_[i];
  const double part = norm(lost) / norm(mean_);
  own_error_ = std::isfinite(part) ? static_cast<float>(part) : 0;
}

void CodedLayers::commit(const StepContext& context, const SharedIndices& indices,
                         std::span<const std::span<float>> gradients) {
  message_.record();
  std::swap(errors_, wanted_);
  for (std::size_t i = 0; i < indices.size(); ++i) errors_[indices.at[i]] -= sent_[i];
  rates_.commit(0, tensors_.size(), context);
  for (const std::span<float> gradient : gradients) std::ranges::fill(gradient, 0.0F);
  std::size_t tensor = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    // SharedIndices are sorted by layer.
    while (indices.at[i] >= first + gradients[tensor].size()) first += gradients[tensor++].size();
    gradients[tensor][indices.at[i] - first] = mean_[i];
  }
}

// --- What is kept ---

void CodedLayers::save(MethodState& state) const {
  std::size_t first = 0;
  for (const MethodTensor& tensor : tensors_) {
    const auto begin = errors_.begin() + static_cast<std::ptrdiff_t>(first);
    first += tensor.elements();
    state.arrays.push_back(
        {.memory = kError,
         .tensor = tensor.name,
         .sharing = Sharing::worker,
         .first = 0,
         .values = {begin, errors_.begin() + static_cast<std::ptrdiff_t>(first)}});
  }
  state.arrays.push_back({.memory = kCode,
                          .tensor = "",
                          .sharing = Sharing::replicated,
                          .first = 0,
                          .values = scheme_->code().save()});
  state.blobs[kIndices] = message_.save();
  state.numbers[kOwnError] = double{own_error_};
  state.numbers[kErrorFactor] = error_factor_;
  rates_.save(state);
}

void CodedLayers::check(const MethodState& state) const {
  for (const MethodTensor& tensor : tensors_) {
    whole_array(state, kError, tensor.name, tensor.elements());
  }
  if (!state.is_reshared && !state.blobs.contains(kIndices)) {
    throw Error("the saved state has no history of indices");
  }
  const StateArray* const code = find_array(state, kCode, "");
  if (code == nullptr) throw Error("the saved state has no code");
  const std::size_t ours = scheme_->code().numbers();
  if (code->values.size() != ours && !state.is_reshared) {
    throw Error("the saved code has " + std::to_string(code->values.size()) +
                " numbers, and this one has " + std::to_string(ours));
  }
}

bool CodedLayers::load(const MethodState& state) {
  check(state);
  // Of other ranks' history nothing is kept: all start anew.
  const auto history = state.blobs.find(kIndices);
  if (history == state.blobs.end()) {
    message_.forget();
  } else {
    message_.load(history->second);
  }
  std::size_t first = 0;
  for (const MethodTensor& tensor : tensors_) {
    std::ranges::copy(find_array(state, kError, tensor.name)->values,
                      errors_.begin() + static_cast<std::ptrdiff_t>(first));
    first += tensor.elements();
  }
  rates_.load(state);
  const auto number = [&](const char* key, double otherwise) {
    const auto found = state.numbers.find(key);
    return found == state.numbers.end() ? otherwise : found->second;
  };
  own_error_ = static_cast<float>(state.is_reshared ? 0 : number(kOwnError, 0));
  error_factor_ = number(kErrorFactor, 1);
  const std::vector<float>& code = find_array(state, kCode, "")->values;
  if (code.size() != scheme_->code().numbers()) return false;
  scheme_->code().load(code);
  note_learned();
  return true;
}

void CodedLayers::rescale(float factor) {
  for (float& error : errors_) error *= factor;
}

std::size_t CodedLayers::memory_bytes() const {
  return (errors_.size() + scheme_->code().numbers()) * sizeof(float) + message_.memory_bytes();
}

}  // namespace gradwire
