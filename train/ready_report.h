// ReadyReport: tells, parameter by parameter, when a backward pass has a gradient complete. The
// parameters' autograd nodes hold a pointer to it, so it stays where it is. For one thread at a
// time.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "train/model.h"

namespace torch::autograd {
struct Node;
}

namespace gradwire::train {

class ReadyReport {
 public:
  // Leaf tensors that have their gradients' memory already.
  explicit ReadyReport(std::vector<at::Tensor> parameters);
  ~ReadyReport();
  ReadyReport(const ReadyReport&) = delete;
  ReadyReport& operator=(const ReadyReport&) = delete;

  // Calls `ready` from within `backward`, and afterwards for those parameters that had no part in
  // the result, so that each is reported once.
  void run(const std::function<void()>& backward, const Model::Ready& ready);

 private:
  void complete(std::size_t parameter);

  std::vector<at::Tensor> parameters_;
  std::vector<const void*> places_;  // of the gradients
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
  std::vector<char> is_complete_;
  const Model::Ready* ready_ = nullptr;
};

}  // namespace gradwire::train
