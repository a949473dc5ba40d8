// The documents recommend what advise recommends. Tests run in the top directory.
#include "advise/recommended.h"

#include <fstream>
#include <iterator>

#include "advise/advice.h"
#include "gradwire/method/parsed_method.h"
#include "gtest/gtest.h"

namespace gradwire::advise {
namespace {

// A file with single spaces for all white space.
std::string words_of(const char* path) {
  std::ifstream file(path);
  std::string text;
  for (auto c = std::istreambuf_iterator<char>(file); c != std::istreambuf_iterator<char>(); ++c) {
    const bool is_space = *c == ' ' || *c == '\n';
    if (!is_space) {
      text += *c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  return text;
}

TEST(Recommended, DocumentsSayTheSame) {
  for (const char* path : {"README.md", "docs/methods.md", "docs/pytorch.md"}) {
    EXPECT_NE(words_of(path).find(recommendation_text()), std::string::npos)
        << path << " has to say: " << recommendation_text();
  }
}

TEST(Recommended, MethodsSuitTheirOptimisers) {
  for (const Recommended& each : recommended()) {
    const ParsedMethod method = parse_method(each.method);
    const bool is_sgd = each.optimiser == std::string("SGD");
    EXPECT_TRUE(is_sgd || !method.traits.has_memory) << each.method;
    if (*each.fewer_bytes == '\0') continue;
    EXPECT_TRUE(parse_method(each.fewer_bytes).traits.owns_moments) << each.fewer_bytes;
  }
}

// Two methods and the mean of floats on a link where bytes count, with the speeds of none.
std::vector<Candidate> candidates_on_a_slow_link() {
  const auto with = [](const char* method, double seconds, double error) {
    const ParsedMethod parsed = parse_method(method);
    Candidate candidate;
    candidate.speed.method = method;
    candidate.speed.has_memory = parsed.traits.has_memory;
    candidate.speed.owns_moments = parsed.traits.owns_moments;
    candidate.speed.is_unbiased =
        parsed.up && parsed.up->guarantee(1000).kind == Guarantee::Kind::unbiased;
    candidate.predictions.topologies = {
        {.exchange_seconds = seconds, .bytes_sent = 1e6 * seconds, .relative_error = error}};
    return candidate;
  };
  return {with(parse_method("none").spec.c_str(), 8, 0), with(recommended()[0].method, 0.1, 0.9),
          with(recommended()[1].method, 1, 0.2), with(recommended()[1].fewer_bytes, 0.3, 0.7)};
}

TEST(Recommended, AdviceIsTheSameForBothOptimisers) {
  const std::vector<Candidate> candidates = candidates_on_a_slow_link();
  const Advice for_sgd = advise(candidates, 0, false);
  EXPECT_EQ(candidates[for_sgd.candidate].speed.method, recommended()[0].method);
  EXPECT_FALSE(for_sgd.later.has_value());
  const Advice for_adam = advise(candidates, 0, true);
  EXPECT_EQ(candidates[for_adam.candidate].speed.method, recommended()[1].method);
  EXPECT_EQ(candidates[for_adam.later.value()].speed.method, recommended()[1].fewer_bytes);
}

}  // namespace
}  // namespace gradwire::advise
