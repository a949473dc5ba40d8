// OuterStep: the step of the common model of local(...), by the mean of how far workers have moved.
// SGD with Nesterov momentum; with a momentum of 0, plain SGD. Value type.
#pragma once

#include <span>
#include <string>

namespace gradwire {

struct OuterStep {
  double rate = 1;
  double momentum = 0;

  // How far the model moves in the long run, over the mean of what workers moved by.
  double gain() const { return rate / (1 - momentum); }
  std::string spec() const;

  // m = mu m + u;  g -= nu (u + mu m). `mean` is u; `memory` is m, and empty without a momentum.
  // The mean is changed.
  void move(std::span<float> model, std::span<float> mean, std::span<float> memory) const;

  // The same without the model: the mean becomes nu (u + mu m), which is to be subtracted.
  void scale(std::span<float> mean, std::span<float> memory) const;

 private:
  void add_momentum(std::span<float> mean, std::span<float> memory) const;
};

}  // namespace gradwire
