#include "python/native/averager.h"

#include <utility>

#include "gradwire/collective/rank_sums.h"
#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/step_order.h"

namespace gradwire::python {

Averager::Averager(const Options& options) : options_(options) {
  parse_method(options_.spec);  // before anybody waits for anybody
  communicator_ =
      std::make_unique<Communicator>(make_tcp_transport(options_.tcp), options_.communicator);
  refused_connections_ = communicator_->refused_connections();
  if (!options_.record.directory.empty()) {
    log_ = std::make_unique<RunLog>(*communicator_, options_.record);
  }
}

std::vector<std::uint64_t> Averager::agree(std::span<const std::uint64_t> proposal) {
  if (communicator_->rank() == 0) return sum(proposal);
  return sum(std::vector<std::uint64_t>(proposal.size()));
}

std::vector<std::uint64_t> Averager::sum(std::span<const std::uint64_t> own) {
  return sum_over_ranks(*communicator_, own);
}

void Averager::make(std::vector<MethodTensor> tensors, std::vector<MomentSettings> moments) {
  method_.reset();
  if (totals_.steps == 0) totals_.tensor_bytes.assign(tensors.size(), 0);
  if (log_) log_->set_parameters(total_elements(tensors));
  MethodOptions options = options_.method;
  // By the size of the whole model: a host sends as many messages with many ranks as with one.
  options.group_elements = group_elements_for(options_.parts * total_elements(tensors));
  options.moments = std::move(moments);
  method_ = make_method(*communicator_, std::move(tensors), options_.spec, options);
  if (log_) log_->set_method(method_->spec());
}

Method& Averager::method() {
  if (!method_) throw Error("there is no method yet: it is made with the first step");
  return *method_;
}

// --- A step ---

void Averager::begin(const StepContext& context) {
  if (log_) log_->settle();
  context_ = context;
  method().begin(context);
}

void Averager::submit(std::size_t tensor, std::span<float> gradient) {
  method().submit(tensor, gradient);
}

bool Averager::finish(double compute_seconds) {
  const MethodReport report = method().finish();
  count(report);
  if (report.note) remark(report.note->line());
  if (log_) log_->note(report, context_, compute_seconds);
  return report.poisoned == 0;
}

void Averager::count(const MethodReport& report) {
  ++totals_.steps;
  totals_.poisoned += report.poisoned > 0 ? 1 : 0;
  totals_.uploads_skipped += report.uploads_skipped;
  totals_.traffic += report.traffic;
  totals_.phases += report.phases;
  const std::vector<std::uint64_t> bytes = method_->tensor_bytes();
  if (bytes.empty()) totals_.tensor_bytes.clear();
  for (std::size_t i = 0; i < totals_.tensor_bytes.size(); ++i) {
    totals_.tensor_bytes[i] += bytes[i];
  }
}

void Averager::remark(const std::string& line) {
  if (line.empty()) return;
  remarks_.push_back("step " + std::to_string(context_.step + 1) + ": " + line);
}

void Averager::log(const Remark& remark) {
  if (log_) log_->add(remark);
}

std::vector<std::string> Averager::take_remarks() { return std::exchange(remarks_, {}); }

// --- The end ---

void Averager::close() {
  if (!communicator_) return;
  if (log_) log_->finish();
  log_.reset();
  method_.reset();
  communicator_->close();
  communicator_.reset();
}

void Averager::abandon() {
  log_.reset();
  method_.reset();
  communicator_.reset();
}

}  // namespace gradwire::python
