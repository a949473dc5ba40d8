#include "train/learn_batch.h"

#include "gradwire/core/random.h"

namespace gradwire::train {
namespace {

Score learn_part(Model& model, const data::Source& source, std::span<const std::uint32_t> samples,
                 const BatchDraw& draw, std::uint32_t part, data::Batch& batch,
                 const Model::Ready& ready) {
  const std::size_t first = samples.size() * part / draw.parts;
  const std::size_t end = samples.size() * (part + 1) / draw.parts;
  const auto rank = static_cast<std::uint32_t>(draw.rank);
  const Rng random{.seed = draw.seed,
                   .step = draw.step,
                   .tensor = Rng::tensor_id("samples") + part,
                   .rank = rank,
                   .purpose = Purpose::data};
  source.fill_train(samples.subspan(first, end - first), random, batch);
  const float share =
      samples.empty() ? 0 : static_cast<float>(end - first) / static_cast<float>(samples.size());
  return model.learn(batch, {.seed = draw.seed, .step = draw.step, .rank = rank, .part = part},
                     share, ready);
}

}  // namespace

Score learn_batch(Model& model, const data::Source& source, std::span<const std::uint32_t> samples,
                  const BatchDraw& draw, data::Batch& batch, const Model::Ready& ready) {
  Score sum;
  const auto parts = static_cast<std::uint32_t>(draw.parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Score score = learn_part(model, source, samples, draw, part, batch,
                                   part + 1 == parts ? ready : Model::Ready());
    sum.loss += score.loss;
    sum.correct += score.correct;
    sum.count += score.count;
  }
  return sum;
}

}  // namespace gradwire::train
