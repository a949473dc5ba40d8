#include "report/page_test/example_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradwire/method/lgc/code_note.h"
#include "gradwire/method/lgreco/plan_note.h"
#include "record/attendance.h"

namespace gradwire::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kParameters = 272'474;

struct Example {
  const char* method;
  double ratio;       // of the bytes of a ring allreduce to those that are sent
  double down_share;  // bytes received for each that is sent
  double encode_ms;
  double decode_ms;
  double speed;  // of the fall of the loss
  double skipped;
};

constexpr Example kExamples[] = {
    {"none", 1, 1, 0, 0.3, 1, 0},
    {"natural", 3.55, 1, 0.5, 0.6, 0.99, 0},
    {"natural | entropy", 6.1, 1, 2.1, 2.6, 0.99, 0},
    {"diana(natural)", 3.55, 1, 0.9, 0.8, 1.02, 0},
    {"ef(topk(1%) | natural)", 84, 3, 1.7, 0.4, 0.9, 0},
    {"powersgd(rank=4)", 41, 1, 1.4, 0.7, 0.95, 0},
    {"sasg(topk(1%))", 118, 3, 1.3, 0.3, 0.84, 0.38},
};

// The same in every run: no generator is worth it.
double wobble(std::uint64_t step, double phase) {
  const double x = static_cast<double>(step);
  return std::sin(x * 12.9898 + phase * 78.233) * std::sin(x * 0.731 + phase);
}

record::StepRecord step_of(const Example& example, std::uint64_t step, std::uint64_t steps) {
  const double progress = static_cast<double>(step) / static_cast<double>(steps);
  const double phase = example.ratio;
  const double fall = std::exp(-4 * example.speed * progress);
  const double compute = (38 + 2 * wobble(step, phase)) * 1e-3;
  const double bytes = 2 * 4 * kParameters * 0.75 / example.ratio;
  record::StepRecord record{
      .step = step,
      .metrics = {.loss = 0.28 + 2.1 * fall + 0.06 * wobble(step, phase)},
      .learning_rate = 0.1,
      .traffic = {.bytes_sent = static_cast<std::uint64_t>(bytes),
                  .bytes_received = static_cast<std::uint64_t>(bytes * example.down_share)},
      .uploads = 4};
  if (example.skipped > 0 && wobble(step, 3) > 0.1) {
    record.uploads_skipped = 3;
    record.uploads = 1;
    record.traffic.bytes_sent /= 4;
  }
  const double exchange = 1e-3 + static_cast<double>(record.traffic.bytes_sent) / 4e8;
  record.phases = {.compute_seconds = compute,
                   .encode_seconds = example.encode_ms * 1e-3,
                   .exchange_seconds = exchange,
                   .decode_seconds = example.decode_ms * 1e-3};
  record.seconds = 0.97 * (compute + exchange) + record.phases.encode_seconds;
  if (step % std::max<std::uint64_t>(1, steps / 20) == 0) {
    record.metrics.test_loss = 0.36 + 1.9 * fall + 0.01 * wobble(step, phase + 1);
    record.metrics.accuracy = 0.915 - 0.8 * fall + 0.006 * wobble(step, phase + 2);
  }
  return record;
}

void add_totals(Run& run) {
  record::RunRecord& record = run.record;
  record.steps = run.steps.size();
  for (const record::StepRecord& step : run.steps) {
    record.traffic += step.traffic;
    record.uploads += step.uploads;
    record.uploads_skipped += step.uploads_skipped;
    record.phases += step.phases;
    record.seconds += step.seconds;
  }
  if (!run.steps.empty()) record.final = run.steps.back().metrics;
}

Run network_run(const Example& example, std::uint64_t steps) {
  Run run{.name = example.method};
  record::RunRecord& record = run.record;
  record.method = example.method;
  record.workers = 4;
  record.parameters = kParameters;
  record.start = {.loss = 2.38, .test_loss = 2.31, .accuracy = 0.1};
  record.configuration = {
      {"model", "resnet20"},   {"data", "fashion-mnist"},   {"batch", 32}, {"learning_rate", 0.1},
      {"topology", "scatter"}, {"transport", "in-process"}, {"seed", 1}};
  record.version = "0.1.0";
  record.machine = {{"cpus", 2}, {"compiler", "gcc 12.2.0"}, {"system", "Linux 6.1.0 x86_64"}};
  for (std::uint64_t step = 1; step <= steps; ++step) {
    run.steps.push_back(step_of(example, step, steps));
  }
  add_totals(run);
  return run;
}

PlanNote plan_at(std::uint64_t step) {
  PlanNote plan{.reason = "A new plan: the period is over."};
  for (int block = 1; block <= 9; ++block) {
    for (int conv = 1; conv <= 2; ++conv) {
      const double wanted = 5.2 - 0.25 * block + 1.3 * wobble(step, block + 0.3 * conv);
      const int bits = std::clamp(static_cast<int>(wanted + static_cast<double>(step) / 900), 2, 8);
      const std::size_t elements = std::size_t{2304} << (2 * ((block - 1) / 3));
      plan.layers.push_back(
          {.name = "block" + std::to_string(block) + ".conv" + std::to_string(conv),
           .elements = elements,
           .choice = "qsgd(bits=" + std::to_string(bits) + ")",
           .bytes = (bits + 0.06) / 8 * static_cast<double>(elements)});
    }
  }
  return plan;
}

CodeNote code_note_at(std::uint64_t step) {
  constexpr std::uint64_t kFullSteps = 20;
  constexpr std::uint64_t kLearnedAt = 140;
  const auto around = [&](double bytes, double phase) {
    return static_cast<std::uint64_t>(bytes * (1 + 0.04 * wobble(step, phase)));
  };
  const bool is_full = step <= kFullSteps;
  const bool is_coded = step > kLearnedAt && step % 50 != 0;
  const std::uint64_t full = 2 * 4 * kParameters * 3 / 4;
  CodeNote note{.phase = is_full    ? "full"
                         : is_coded ? "coded"
                                    : "sparse",
                .parts = {{"places", is_full ? 0 : around(2600, 1)},
                          {"values", is_full || is_coded ? 0 : around(8200, 2)},
                          {"codes", is_coded ? around(1350, 3) : 0},
                          {"dense", is_full ? 0 : around(1900, 4)},
                          {"last", is_full ? 0 : around(700, 5)},
                          {"full", is_full ? full : 0}},
                .learn_seconds = is_coded ? 0 : 0.012};
  if (!is_full) {
    const double learned = std::exp(-static_cast<double>(step - kFullSteps) / 60);
    note.error = 0.21 + 0.7 * learned + 0.05 * wobble(step, 6);
  }
  if (step == kLearnedAt + 1) note.remark = "The code is used from now on.";
  return note;
}

}  // namespace

std::vector<Run> network_runs(std::uint64_t steps) {
  std::vector<Run> runs;
  for (const Example& example : kExamples) runs.push_back(network_run(example, steps));
  return runs;
}

std::vector<Run> seeds_runs() {
  std::vector<Run> runs;
  for (int seed = 1; seed <= 3; ++seed) {
    for (Example example : {kExamples[0], kExamples[1], kExamples[4]}) {
      example.speed *= 1 + 0.02 * seed;
      Run run = network_run(example, 500);
      run.name += " (seed " + std::to_string(seed) + ")";
      run.record.configuration["seed"] = seed;
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<Run> convex_runs() {
  std::vector<Run> runs;
  for (const Example& example : {kExamples[0], kExamples[1], kExamples[3]}) {
    Run run = network_run(example, 300);
    run.record.configuration = {{"model", "logistic"}, {"data", "mushrooms"}, {"split", "label"}};
    run.record.start = {.loss = 0.7, .gap = 0.4};
    for (record::StepRecord& step : run.steps) {
      const double fall = std::pow(10.0, -0.04 * example.speed * static_cast<double>(step.step));
      step.metrics = {};
      if (step.step % 5 == 0) step.metrics = {.loss = 0.3 + 0.4 * fall, .gap = 0.4 * fall};
    }
    run.steps.back().metrics.gap = 0;  // has no place on a logarithmic axis
    run.record.final = run.steps[run.steps.size() - 6].metrics;
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> adaptive_runs() {
  Run run = network_run(kExamples[1], 2000);
  run.name = run.record.method = "lgreco(qsgd)";
  for (std::uint64_t step = 0; step < 2000; step += 50)
    run.steps[step].note = to_note(plan_at(step));
  return {run};
}

std::vector<Run> learned_runs(std::uint64_t steps) {
  Run run = network_run(kExamples[4], steps);
  run.name = run.record.method = "lgc(topk(1%))";
  run.record.traffic.bytes_sent = 0;
  for (record::StepRecord& step : run.steps) {
    const CodeNote code = code_note_at(step.step);
    step.note = to_note(code);
    step.traffic.bytes_sent = 0;
    for (const CodeNote::Part& part : code.parts) step.traffic.bytes_sent += part.bytes;
    run.record.traffic.bytes_sent += step.traffic.bytes_sent;
  }
  return {run};
}

std::vector<Run> plain_runs() {
  static const NoteKind kind{
      .step_name = "weather",
      .run_name = "weather",
      .fields = {{.name = "wind", .unit = "m/s"},
                 {.name = "is_wet", .type = NoteField::Type::flag},
                 {.name = "towns", .type = NoteField::Type::table}},
      .table = {.row = "town",
                .columns = {{.name = "name", .type = NoteField::Type::text},
                            {.name = "rain", .unit = "mm"}}},
      .totals = {{.name = "mean_wind",
                  .how = NoteTotal::How::mean,
                  .of = "wind",
                  .unit = "m/s",
                  .label = "mean wind"}},
      .view = {.title = "Weather", .hint = "A kind of note that no method has."}};
  Run run = network_run(kExamples[1], 50);
  for (record::StepRecord& step : run.steps) {
    step.note.emplace(kind);
    step.note->set("wind", static_cast<double>(step.step));
    step.note->set("is_wet", true);
    step.note->rows = {{std::string("Ulm"), 3.5}, {std::string("Trier"), 0.0}};
  }
  return {run};
}

std::vector<Run> hostile_runs() {
  std::vector<Run> runs;
  for (const char* name :
       {"</script><script>window.hostile = 1</script>", "<img src=x onerror='window.hostile = 1'>",
        "<!--<script>", "\"quotes\" & 'more' \\ \xff"}) {
    Run run = network_run(kExamples[1], 50);
    run.name = run.record.method = name;
    run.record.configuration["model"] = name;
    run.record.configuration["data"] = {{"an", "object"}};
    run.record.version = name;
    run.steps[20].metrics.loss = kNan;
    run.steps[30].metrics.loss = std::numeric_limits<double>::infinity();
    run.record.final.loss = kNan;
    PlanNote plan = plan_at(0);
    plan.layers[0].name = name;
    plan.layers[0].choice = name;
    plan.layers[1].elements = 0;  // its bits are no number
    run.steps[0].note = to_note(plan);
    run.steps[1].note = to_note(PlanNote{.reason = name});
    run.steps[7].note = to_note(CodeNote{.phase = name, .parts = {{name, 1}}, .error = kNan});
    run.steps[9].note = to_note(CodeNote{.phase = "constructor"});
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> elastic_runs() {
  constexpr std::uint64_t kSteps = 900;
  Run run = network_run(kExamples[4], kSteps);
  const auto member = [](int number) {
    const std::string digits = std::to_string(10 + number);
    return record::ViewMember{"c0ffee" + digits + "aaaaaaaa", "10.0.0." + digits + ":29400"};
  };
  std::vector<int> there = {0, 1, 2};
  int next = 3;
  for (std::uint64_t view = 1; view <= 12; ++view) {
    record::ViewRecord record{.view = view, .step = (view - 1) * 75, .change_seconds = 0.04};
    if (view > 1 && view % 2 == 0) {  // one is lost, the first one too, and later one joins
      const std::size_t gone = view % there.size();
      record.departed = {{member(there[gone]).id, view == 8 ? "left" : "closed", view != 8}};
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(gone));
    } else if (view > 1) {
      there.push_back(next);
      record.joined = {member(next++).id};
    }
    for (const int number : there) record.members.push_back(member(number));
    run.record.views.push_back(to_json(record));
  }
  return {run};
}

std::vector<Run> empty_runs() {
  Run run{.name = "none"};
  run.record.method = "none";
  return {run};
}

}  // namespace gradwire::report
