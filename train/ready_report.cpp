#include "train/ready_report.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "gradwire/core/check.h"

namespace gradwire::train {

using torch::autograd::variable_list;
using torch::autograd::utils::LambdaPostHook;

ReadyReport::ReadyReport(std::vector<at::Tensor> parameters)
    : parameters_(std::move(parameters)), is_complete_(parameters_.size(), 0) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    places_.push_back(parameters_[i].grad().data_ptr());
    // A parameter holds its node weakly: the hook lives for as long as we hold the node.
    nodes_.push_back(torch::autograd::impl::grad_accumulator(parameters_[i]));
    nodes_.back()->add_post_hook(std::make_unique<LambdaPostHook>(
        [this, i](const variable_list& outputs, const variable_list&) {
          complete(i);
          return outputs;
        }));
  }
}

ReadyReport::~ReadyReport() = default;

void ReadyReport::run(const std::function<void()>& backward, const Model::Ready& ready) {
  ready_ = &ready;
  is_complete_.assign(is_complete_.size(), 0);
  backward();
  for (std::size_t i = 0; i < is_complete_.size(); ++i) {
    if (!is_complete_[i]) complete(i);
  }
}

void ReadyReport::complete(std::size_t parameter) {
  GW_CHECK(!is_complete_[parameter]);
  GW_CHECK(parameters_[parameter].grad().data_ptr() == places_[parameter]);
  is_complete_[parameter] = 1;
  if (*ready_) (*ready_)(parameter);
}

}  // namespace gradwire::train
