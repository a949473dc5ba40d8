#include "gradwire/method/local/fragment.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gradwire/core/error.h"
#include "gradwire/kernel/sums.h"

namespace gradwire {
namespace {

constexpr const char* kArrived = "arrived mean";

// What a report counts: the record of the step in which the mean is taken has it.
std::array<std::pair<const char*, std::uint64_t*>, 5> counts_of(MethodReport& report) {
  return {{{"exchanges", &report.exchanges},
           {"poisoned", &report.poisoned},
           {"message bytes", &report.traffic.message_bytes},
           {"bytes sent", &report.traffic.bytes_sent},
           {"bytes received", &report.traffic.bytes_received}}};
}

std::vector<MethodTensor> chosen(std::span<const std::size_t> which,
                                 const std::vector<MethodTensor>& tensors) {
  std::vector<MethodTensor> own;
  for (const std::size_t tensor : which) own.push_back(tensors[tensor]);
  return own;
}

}  // namespace

Fragment::Fragment(std::string name, std::vector<std::size_t> which,
                   const std::vector<MethodTensor>& tensors, Communicator& communicator,
                   const ParsedMethod& inner, const MethodOptions& options)
    : name_(std::move(name)),
      which_(std::move(which)),
      tensors_(chosen(which_, tensors)),
      exchange_(inner.make(communicator, tensors_, options)) {
  for (const MethodTensor& tensor : tensors_) values_.emplace_back(tensor.elements());
}

void Fragment::count_step(float weight) {
  weights_ += double{weight};
  ++steps_;
}

void Fragment::begin(std::uint64_t step) {
  moved_squared_ = 0;
  for (const auto& values : values_) moved_squared_ += kernel::moments(values).squares;
  const double weight = steps_ == 0 ? 1 : weights_ / static_cast<double>(steps_);
  exchange_->begin({.step = rounds_++, .weight = static_cast<float>(weight)});
  for (std::size_t i = 0; i < values_.size(); ++i) exchange_->submit(i, values_[i]);
  begun_ = step;
  is_settled_ = false;
  weights_ = 0;
  steps_ = 0;
}

void Fragment::settle() {
  if (is_settled_) return;
  report_ = exchange_->finish();
  is_settled_ = true;
}

MethodReport Fragment::arrive() {
  settle();
  begun_.reset();
  return std::exchange(report_, {});
}

// --- State: that of the exchange, and numbers under this fragment's name ---

void Fragment::save(MethodState& state) {
  if (begun_) settle();
  const MethodState own = exchange_->save();
  state.arrays.insert(state.arrays.end(), own.arrays.begin(), own.arrays.end());
  for (const auto& [key, number] : own.numbers) state.numbers[name_ + key] = number;
  for (const auto& [key, blob] : own.blobs) state.blobs[name_ + key] = blob;
  state.numbers[name_ + "rounds"] = static_cast<double>(rounds_);
  state.numbers[name_ + "weights"] = weights_;
  state.numbers[name_ + "steps"] = static_cast<double>(steps_);
  state.numbers[name_ + "begun"] = begun_ ? static_cast<double>(*begun_) : -1;
  for (const auto& [key, count] : counts_of(report_)) {
    state.numbers[name_ + key] = static_cast<double>(*count);
  }
  if (!begun_) return;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    state.arrays.push_back({.memory = kArrived,
                            .tensor = tensors_[i].name,
                            .sharing = Sharing::replicated,
                            .values = values_[i]});
  }
}

MethodState Fragment::own_part(const MethodState& state) const {
  MethodState own = state;
  own.spec = exchange_->spec();
  own.tensors.clear();
  for (const auto& [tensor, shape] : tensors_) own.tensors.push_back({tensor, shape});
  const auto is_other = [&](const StateArray& array) {
    return array.memory == kArrived ||
           std::ranges::find(tensors_, array.tensor, &MethodTensor::name) == tensors_.end();
  };
  std::erase_if(own.arrays, is_other);
  own.numbers.clear();
  own.blobs.clear();
  for (const auto& [key, number] : state.numbers) {
    if (key.starts_with(name_)) own.numbers[key.substr(name_.size())] = number;
  }
  for (const auto& [key, blob] : state.blobs) {
    if (key.starts_with(name_)) own.blobs[key.substr(name_.size())] = blob;
  }
  return own;
}

void Fragment::load(const MethodState& state) {
  MethodState own = own_part(state);
  const auto number = [&](const char* key) {
    const auto found = own.numbers.find(key);
    if (found == own.numbers.end()) {
      throw Error("the saved state has no '" + name_ + key + "' of local steps");
    }
    return found->second;
  };
  const double begun = number("begun");
  std::vector<std::vector<float>> arrived;
  for (const MethodTensor& tensor : tensors_) {
    if (begun < 0) break;
    arrived.push_back(whole_array(state, kArrived, tensor.name, tensor.elements()).values);
  }
  const auto rounds = static_cast<std::uint64_t>(number("rounds"));
  const double weights = number("weights");
  const auto steps = static_cast<std::uint64_t>(number("steps"));
  MethodReport report;
  for (const auto& [key, count] : counts_of(report)) {
    *count = static_cast<std::uint64_t>(number(key));
  }
  if (begun_) settle();
  exchange_->load(own);
  rounds_ = rounds;
  weights_ = weights;
  steps_ = steps;
  report_ = std::move(report);
  begun_.reset();
  is_settled_ = false;
  if (begun < 0) return;
  begun_ = static_cast<std::uint64_t>(begun);
  is_settled_ = true;
  for (std::size_t i = 0; i < arrived.size(); ++i)
    std::ranges::copy(arrived[i], values_[i].begin());
}

std::size_t Fragment::memory_bytes() const {
  std::size_t bytes = exchange_->memory_bytes();
  for (const auto& values : values_) bytes += values.size() * sizeof(float);
  return bytes;
}

}  // namespace gradwire
