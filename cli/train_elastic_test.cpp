// Tests of runs whose members come and go: the real program, in processes.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cli/train_test_support.h"
#include "gtest/gtest.h"
#include "launch/exit_codes.h"
#include "record/checkpoint_directory.h"
#include "record/json_file.h"
#include "record/step_records.h"

namespace gradwire::cli {
namespace {

class TrainElastic : public TrainTest {
 protected:
  std::string founder(const std::string& more) const {
    return std::string(GRADWIRE_PROGRAM) +
           " train --elastic --model 'mlp(hidden=16)' --data generated --batch 16 --threads 1 "
           "--codec-threads 1 --method 'ef(topk(5%) | natural)' --out " +
           out_ + " " + more;
  }
  std::string newcomer(const std::string& name, const std::string& more = "") const {
    return std::string(GRADWIRE_PROGRAM) + " train --join $address --threads 1 --codec-threads 1 " +
           "--out " + member(name) + " " + more + " 2>" + member(name) + ".err >" + member(name) +
           ".out";
  }
  std::string member(const std::string& name) const { return directory_ / name; }
  // Sets $address, when the founder says it.
  std::string find_address() const {
    return "address=; for look in $(seq 600); do address=$(sed -n 's/.*listens on //p' " +
           founder_err() + "); [ -n \"$address\" ] && break; sleep 0.05; done; ";
  }
  std::string founder_err() const { return directory_ / "founder.err"; }
  // Waits until a record has so many steps.
  static std::string await_steps(const std::string& record, int steps) {
    return "for look in $(seq 1200); do [ $(wc -l 2>/dev/null <" + record +
           "/steps.jsonl || echo 0) -ge " + std::to_string(steps) +
           " ] && break; sleep 0.05; done; ";
  }
};

TEST_F(TrainElastic, OptionsThatDoNotFitAreRefused) {
  const auto train = [](const Names& more) {
    Names arguments = {"train", "--elastic"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gradwire(arguments);
  };
  expect_refused(train({"--method", "powersgd(rank=4)"}),
                 "cannot be used while members come and go");
  expect_refused(train({"--method", "lasg(natural)"}), "cannot be used while members come and go");
  expect_refused(train({"--method", "local(none)"}), "gradwire.join in Python takes it");
  expect_refused(train({"--model", "logistic"}), "logistic has no --elastic");
  expect_refused(train({"--transport", "tcp"}), "--transport is not for runs whose members");
  expect_refused(train({"--grace", "75%"}), "--grace is not for runs whose members");
  expect_refused(train({"--split", "label"}), "--split is not for runs whose members");
  expect_refused(train({"--hosts", "2"}), "take --hosts auto or off");
  expect_refused(train({"--join", "127.0.0.1:1"}), "--join");
  expect_refused(gradwire({"train", "--listen", "127.0.0.1:0"}),
                 "--listen is for --elastic and --join");
  expect_refused(gradwire({"train", "--join", "127.0.0.1:1", "--model", "mlp"}),
                 "--join takes the settings from the run: leave out --model");
}

TEST_F(TrainElastic, DryRunFoundsNothing) {
  const Outcome outcome = gradwire({"train", "--elastic", "--listen", "127.0.0.1:0", "--model",
                                    "mlp", "--dry-run", "--out", out_});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "would found a run of mlp")) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(out_));
  expect_refused(gradwire({"train", "--join", "127.0.0.1:1", "--dry-run"}), "leave out --dry-run");
}

TEST_F(TrainElastic, NobodyToJoinIsSaid) {
  const Outcome outcome =
      gradwire({"train", "--join", "127.0.0.1:1", "--wait", "1", "--out", out_});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, "no member of the run answers")) << outcome.err;
}

TEST_F(TrainElastic, OneMemberTrainsAloneAndItsRecordSaysWhatItUsed) {
  const Outcome outcome = in_a_process(founder("--steps 70 --workers 6 --json"));
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json run = outcome.json();
  EXPECT_EQ(run["configuration"]["global_batch"], 96);
  EXPECT_GT(run["final"]["accuracy"], 0.2);
  const auto steps = record::read_steps(out_ + "/steps.jsonl");
  ASSERT_EQ(steps.size(), 70u);
  const std::uint64_t samples = run["configuration"]["train_samples"];
  std::uint64_t next = 0;
  std::uint64_t epoch = 0;
  for (const record::StepRecord& step : steps) {
    ASSERT_TRUE(step.attendance);
    EXPECT_EQ(step.attendance->members, 1u);
    EXPECT_EQ(step.attendance->epoch, epoch);
    ASSERT_EQ(step.attendance->samples.size(), 1u);
    EXPECT_EQ(step.attendance->samples[0][0], next);
    next = step.attendance->samples[0][1];
    if (next == samples) {
      next = 0;
      ++epoch;
    }
  }
  EXPECT_TRUE(contains(read_text(out_ + "/report.html"), "<html"));
  EXPECT_TRUE(std::filesystem::exists(out_ + "/model"));
}

TEST_F(TrainElastic, SegmentsHaveAMeanIou) {
  const Outcome outcome = gradwire({"train", "--elastic", "--listen", "127.0.0.1:0", "--model",
                                    "segmenter", "--data", "generated-segments", "--steps", "3",
                                    "--batch", "8", "--threads", "1", "--json", "--out", out_});
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.err;
  const Json final = outcome.json()["final"];
  EXPECT_GT(final["mean_iou"], 0);
  EXPECT_LT(final["mean_iou"], final["accuracy"]);
}

// A run that is resumed from its checkpoint uses every sample that was left.
TEST_F(TrainElastic, CtrlCOnTheLastMemberLeavesACheckpointThatResumes) {
  const std::string run = founder("--checkpoint-every 20 --steps ");
  const Outcome stopped = in_a_process(run + "1000000 & process=$!; " + await_steps(out_, 30) +
                                       "kill -INT $process; wait $process");
  EXPECT_EQ(stopped.exit_code, launch::kStopped) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "This was the last member")) << stopped.err;
  const auto found = record::whole_checkpoints(out_ + "/checkpoints");
  ASSERT_FALSE(found.empty());
  const std::uint64_t steps = found.back().step + 25;
  const Outcome resumed = in_a_process(run + std::to_string(steps) + " --resume");
  ASSERT_EQ(resumed.exit_code, kDone) << resumed.err;
  const auto lines = record::read_steps(out_ + "/steps.jsonl");
  ASSERT_EQ(lines.size(), steps);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto& before = lines[i - 1].attendance->samples.back();
    const auto& now = lines[i].attendance->samples.front();
    EXPECT_TRUE(now[0] == before[1] || now[0] == 0);
  }
}

// Four members and one that comes later: one is killed, one leaves, three finish. All that wrote
// down a step or a checkpoint agree.
TEST_F(TrainElastic, MembersComeAndGoAndTheRecordsAgree) {
  const std::string script =
      founder(
          "--steps 1500 --workers 16 --members-least 3 --checkpoint-every 50 --keep 1000 "
          "--evaluate-every 500 --wait 60") +
      " 2>" + founder_err() + " >/dev/null & founder=$!; " + find_address() +  //
      newcomer("killed") + " & killed=$!; " + newcomer("leaver") + " & leaver=$!; " +
      newcomer("stays") + " & stays=$!; " + await_steps(member("killed"), 10) +
      await_steps(member("leaver"), 10) + await_steps(member("stays"), 10) +
      "kill -KILL $killed; " + newcomer("late") + " & late=$!; " + await_steps(member("late"), 10) +
      "kill -INT $leaver; wait $leaver; left=$?; wait $late; late=$?; wait $stays; stays=$?; "
      "wait $founder; echo $left $late $stays $?";
  const Outcome outcome = in_a_process(script);
  EXPECT_EQ(outcome.out, "130 0 0 0\n") << read_text(founder_err()) << read_text(member("late.err"))
                                        << read_text(member("leaver.err"));
  EXPECT_TRUE(contains(read_text(member("leaver.err")), "left the run in order"));
  std::map<std::uint64_t, std::set<std::string>> hashes;
  std::map<std::uint64_t, std::set<std::pair<std::uint64_t, std::size_t>>> views;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> used;  // epoch and position
  for (const std::string& record :
       {out_, member("killed"), member("leaver"), member("stays"), member("late")}) {
    for (const auto& checkpoint : record::whole_checkpoints(record + "/checkpoints")) {
      hashes[checkpoint.step].insert(
          record::read_json_file(checkpoint.directory / "manifest.json")["hash"]);
    }
    for (const record::StepRecord& step : record::read_steps(record + "/steps.jsonl")) {
      views[step.step].insert({step.attendance->view, step.attendance->members});
      for (const auto& [first, end] : step.attendance->samples) {
        for (std::uint64_t at = first; at < end; ++at) {
          const auto [known, is_new] = used.try_emplace({step.attendance->epoch, at}, step.step);
          EXPECT_EQ(known->second, step.step);  // no step uses a sample of another one
        }
      }
    }
  }
  for (const auto& [step, seen] : hashes) EXPECT_EQ(seen.size(), 1u) << "after step " << step;
  for (const auto& [step, seen] : views) EXPECT_EQ(seen.size(), 1u) << "step " << step;
  EXPECT_EQ(views.size(), 1500u);
  // Every whole epoch has used every sample.
  const std::uint64_t last = used.rbegin()->first.first;
  const std::uint64_t samples =
      record::read_json_file(out_ + "/run.json")["configuration"]["train_samples"];
  for (std::uint64_t epoch = 0; epoch < last; ++epoch) {
    const auto count =
        std::ranges::count_if(used, [&](const auto& each) { return each.first.first == epoch; });
    EXPECT_EQ(static_cast<std::uint64_t>(count), samples) << "epoch " << epoch;
  }
  const record::Json run = record::read_json_file(out_ + "/run.json");
  const auto departed = [&](const char* why) {
    return std::ranges::count_if(run["views"], [&](const record::Json& view) {
      return !view["departed"].empty() && view["departed"][0]["why"] == why;
    });
  };
  EXPECT_GE(departed("connection closed"), 1);
  EXPECT_GE(departed("left"), 1);
}

}  // namespace
}  // namespace gradwire::cli
