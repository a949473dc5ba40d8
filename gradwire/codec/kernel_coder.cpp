#include "gradwire/codec/kernel_coder.h"

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

// Turns facts into probabilities of a zero, and asks `answer` with them.
template <class Answer>
class Predictor {
 public:
  Predictor(const KernelHistory& history, const KernelModel& model, Answer& answer)
      : history_(history), model_(model), answer_(answer) {}

  bool row(const RowFacts& facts, std::size_t first) {
    const KernelShape& shape = history_.shape();
    return answer_.bit(zeros(model_.row(facts)), first + shape.columns * shape.elements);
  }
  bool kernel(std::size_t kernel, const KernelFacts& facts, std::size_t first) {
    return answer_.bit(zeros(model_.kernel(history_.known_part(kernel), facts)),
                       first + history_.shape().elements);
  }
  bool element(const ElementFacts& facts, std::size_t element) {
    return answer_.bit(zeros(model_.element(facts)), element + 1);
  }
  void found(std::size_t element) { answer_.found(element); }

 private:
  static std::uint32_t zeros(std::int32_t logit) { return 65536 - probability_of(logit); }

  const KernelHistory& history_;
  const KernelModel& model_;
  Answer& answer_;
};

// Bits say whether the next index lies before `end`.
struct Writer {
  RangeEncoder& out;
  std::span<const std::uint32_t> indices;
  std::size_t at = 0;

  bool bit(std::uint32_t zeros, std::size_t end) {
    const bool bit = indices[at] < end;
    out.put_bit(bit, zeros);
    return bit;
  }
  void found(std::size_t /*element*/) { ++at; }
};

struct Reader {
  RangeDecoder& in;
  std::span<std::uint32_t> indices;
  std::size_t at = 0;

  bool bit(std::uint32_t zeros, std::size_t /*end*/) { return in.bit(zeros); }
  void found(std::size_t element) { indices[at++] = static_cast<std::uint32_t>(element); }
};

}  // namespace

void KernelCoder::encode(const KernelHistory& history, const KernelModel& model,
                         std::span<const std::uint32_t> indices, RangeEncoder& out) {
  GW_CHECK(indices.size() == history.kept());
  Writer writer{.out = out, .indices = indices};
  Predictor oracle(history, model, writer);
  GW_CHECK(history.walk(oracle, column_counts_) == indices.size());
}

Decoded<void> KernelCoder::decode(const KernelHistory& history, const KernelModel& model,
                                  RangeDecoder& in, std::span<std::uint32_t> indices) {
  GW_CHECK(indices.size() == history.kept());
  Reader reader{.in = in, .indices = indices};
  Predictor oracle(history, model, reader);
  if (history.walk(oracle, column_counts_) != indices.size()) {
    return Unexpected{DecodeError{"a layer has too few indices", 0}};
  }
  return {};
}

}  // namespace gradwire
