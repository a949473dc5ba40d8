#include "advise/answer.h"

#include <sstream>

#include "gtest/gtest.h"

namespace gradwire::advise {
namespace {

Answer answer_to(std::size_t workers, std::vector<std::string> methods) {
  std::ostringstream out;
  std::ostringstream err;
  const Question question{.tensors = tensors_of_size(20'000, 3),
                          .workers = workers,
                          .bits_per_second = {1e6},
                          .methods = std::move(methods),
                          .rounds = 1};
  return find_answer(question, {.out = out, .err = err});
}

TEST(Answer, SingleWorkerExchangesNothing) {
  const Answer answer = answer_to(1, {"natural"});
  EXPECT_TRUE(answer.candidates.empty());
  EXPECT_FALSE(answer.advice.compresses);
  EXPECT_EQ(answer.scenario.elements(), 20'000u);
}

TEST(AnswerThreads, MethodWithoutCompressionIsAddedOnce) {
  const Answer added = answer_to(4, {"natural"});
  ASSERT_EQ(added.candidates.size(), 2u);
  EXPECT_EQ(added.none, 0u);
  EXPECT_EQ(added.candidates[0].speed.spec, baseline_spec());
  const Answer given = answer_to(4, {"natural", baseline_spec()});
  ASSERT_EQ(given.candidates.size(), 2u);
  EXPECT_EQ(given.none, 1u);
}

TEST(AnswerThreads, SpeedupsAreAgainstTheUncompressedRing) {
  const Answer answer = answer_to(4, {"natural"});
  EXPECT_EQ(&answer.baseline(), &answer.candidates[answer.none].best());
  EXPECT_EQ(answer.speedup(answer.baseline()), 1);
  EXPECT_TRUE(answer.advice.compresses) << "at 1 Mbit/s fewer bytes are faster";
  EXPECT_GT(answer.speedup(answer.candidates[1].best()), kWorthwhile);
}

TEST(AnswerThreads, ExchangesEveryFewStepsCostTheirShareOfAStep) {
  const Answer answer = answer_to(4, {"natural", "local(natural, every=10)"});
  const Candidate& often = answer.candidates[1];
  const Candidate& seldom = answer.candidates[2];
  EXPECT_EQ(seldom.speed.every, 10u);
  EXPECT_NEAR(often.best().bytes_sent / seldom.best().bytes_sent, 10, 0.5);
  EXPECT_LT(seldom.best().seconds(), 0.5 * often.best().seconds());
}

// What adam(...) sends after its warm-up is what the method inside sends.
TEST(AnswerThreads, AdamTakesTheTimeOfItsExchange) {
  const Answer answer = answer_to(4, {"ef(sign)", "adam(sign)"});
  const Candidate& gradients = answer.candidates[1];
  const Candidate& moments = answer.candidates[2];
  EXPECT_EQ(moments.best().bytes_sent, gradients.best().bytes_sent);
  EXPECT_TRUE(moments.speed.owns_moments);
  EXPECT_FALSE(gradients.speed.owns_moments);
}

}  // namespace
}  // namespace gradwire::advise
