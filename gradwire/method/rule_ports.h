// A rule as the two ports of a group's exchange.
#pragma once

#include <cstddef>
#include <span>

#include "gradwire/collective/method_exchange.h"
#include "gradwire/method/rule.h"

namespace gradwire {

// Tensors of a group count from its first, those of a rule from the first of all.
inline TensorPiece in_all(TensorPiece piece, std::size_t first) {
  piece.tensor += first;
  return piece;
}

class WorkerHalf final : public WorkerPort {
 public:
  WorkerHalf(Rule& rule, std::size_t first) : rule_(rule), first_(first) {}

  bool keeps_values() const override { return rule_.keeps_values(); }
  bool takes_pieces_in_order() const override { return rule_.takes_pieces_in_order(); }
  float mean_scale(std::size_t tensor) const override { return rule_.mean_scale(first_ + tensor); }
  void prepare(const TensorPiece& piece, std::span<const float> gradient,
               std::span<float> values) override {
    rule_.prepare(in_all(piece, first_), gradient, values);
  }
  void remember(const TensorPiece& piece, const SentPiece& sent, std::span<float> values) override {
    rule_.remember(in_all(piece, first_), sent, values);
  }
  void commit(const TensorPiece& piece, std::span<const float> mean,
              std::span<float> result) override {
    rule_.commit(in_all(piece, first_), mean, result);
  }

 private:
  Rule& rule_;
  const std::size_t first_;
};

class OwnerHalf final : public OwnerPort {
 public:
  // Of the tensors from `first` to before `last`.
  OwnerHalf(Rule& rule, std::size_t first, std::size_t last)
      : rule_(rule), first_(first), last_(last) {}

  void prepare(const TensorPiece& piece, std::span<const float> mean,
               std::span<float> wanted) override {
    rule_.prepare_down(in_all(piece, first_), mean, wanted);
  }
  void commit(const TensorPiece& piece, std::span<const float> mean,
              std::span<const float> sent) override {
    rule_.commit_down(in_all(piece, first_), mean, sent);
  }
  void begin_call() override { rule_.begin_down(first_, last_); }
  void settle_unit() override { rule_.settle_down(first_, last_); }

 private:
  Rule& rule_;
  const std::size_t first_;
  const std::size_t last_;
};

}  // namespace gradwire
