// L-GreCo where layers differ: a transformer on words, whose embedding holds most of it. Its plans
// against the usual share for all layers, and against the cheapest such share that is as good. A
// run takes hours; a stopped reproduction resumes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "console/format.h"
#include "gradwire/core/error.h"
#include "launch/stop_request.h"
#include "reproduce/claims.h"
#include "reproduce/run_means.h"

namespace gradwire::reproduce {
namespace {

// In the order in which they run: the usual share, plans, and smaller shares.
constexpr std::array kMethods = {"ef(topk(1%))",
                                 "lgreco(topk)",
                                 "lgreco(topk, error=squares)",
                                 "lgreco(topk, error=norms)",
                                 "ef(topk(0.5%))",
                                 "ef(topk(0.2%))",
                                 "ef(topk(0.1%))"};
constexpr std::size_t kUsual = 0;
constexpr std::array<std::size_t, 3> kPlanned = {1, 2, 3};
constexpr std::array<std::size_t, 4> kUniform = {kUsual, 4, 5, 6};  // shares that fall

constexpr double kPerplexityMore = 0.01;  // that counts as the same
constexpr double kTimesFewer = 4;         // than the usual share; published: up to 5
constexpr double kTimesFewerThanBest = 1.5;

using Runs = std::span<const session::FinishedRun>;  // one for each seed
using AllRuns = std::array<std::vector<session::FinishedRun>, kMethods.size()>;

struct Setting {
  std::string data;
  double epochs = 0;
  std::uint64_t seeds = 0;
};

Setting setting_of(const Workbench& bench) {
  if (bench.is_quick()) return {.data = "generated-text", .epochs = 4, .seeds = 1};
  const auto path = bench.data_directory() / "wikitext-2";
  if (std::filesystem::exists(path)) return {.data = path.string(), .epochs = 1, .seeds = 3};
  throw Error(
      "this needs WikiText-2: give --data-dir with a directory wikitext-2 that has train.txt "
      "and test.txt");
}

session::TrainOptions options_of(const Setting& setting, std::uint64_t seed) {
  session::TrainOptions options;
  options.model = "transformer(layers=2, heads=2, width=64)";
  options.data = setting.data;
  options.workers.workers = 4;
  options.seed = seed;
  options.network.epochs = setting.epochs;
  options.batch = 6;  // the logits of more tokens would be too large for the allocator to keep
  options.network.learning_rate = 0.2;
  options.network.optimiser = "sgd(momentum=0.9)";
  options.network.schedule = "cosine";
  options.network.warmup_epochs = setting.epochs / 10;
  options.network.context = 40;
  options.network.words = true;
  return options;
}

Spread perplexity_of(Runs runs) {
  std::vector<double> figures;
  for (const session::FinishedRun& run : runs) {
    figures.push_back(std::exp(run.record.final.test_loss.value_or(std::nan(""))));
  }
  return spread_of(figures);
}

// The larger end of one, within the smaller end of the other.
bool is_as_good(Runs runs, Runs than) {
  const Spread perplexity = perplexity_of(runs);
  return perplexity.mean + perplexity.error <= perplexity_of(than).mean * (1 + kPerplexityMore);
}

ClaimRow bytes_row(const AllRuns& all, std::size_t method, std::uint64_t seeds) {
  const std::size_t some = std::min(all[method].size(), all[kUsual].size());
  ClaimRow row{.what = fmt::format("{}: {} times fewer bytes than {} at a perplexity within 1%",
                                   kMethods[method], kTimesFewer, kMethods[kUsual]),
               .published = "up to 5 times, at full accuracy",
               .measured = "",
               .headline = fmt::format("L-GreCo on a transformer for words, {}: bytes against {}",
                                       kMethods[method], kMethods[kUsual]),
               .extent = extent_of({some}, seeds)};
  if (row.extent == Extent::nothing) return row;
  const Runs runs = Runs(all[method]).first(some);
  const Runs usual = Runs(all[kUsual]).first(some);
  const double times = mean_megabytes(usual) / mean_megabytes(runs);
  row.measured =
      fmt::format("{} times; perplexity {} instead of {}, {}", console::significant(times, 3),
                  console::significant(perplexity_of(runs).mean, 4),
                  console::significant(perplexity_of(usual).mean, 4), seeds_text(runs));
  row.holds = times >= kTimesFewer && is_as_good(runs, usual);
  return row;
}

ClaimRow best_row(const AllRuns& all, std::size_t method, std::uint64_t seeds) {
  std::size_t some = all[method].size();
  for (const std::size_t uniform : kUniform) some = std::min(some, all[uniform].size());
  ClaimRow row{.what = fmt::format("{}: {} times fewer bytes than the cheapest uniform share with "
                                   "its perplexity",
                                   kMethods[method], kTimesFewerThanBest),
               .published = "not compared",
               .measured = "",
               .extent = extent_of({some}, seeds)};
  if (row.extent == Extent::nothing) return row;
  const Runs runs = Runs(all[method]).first(some);
  std::size_t best = kUsual;
  for (const std::size_t uniform : kUniform) {
    if (is_as_good(Runs(all[uniform]).first(some), runs)) best = uniform;
  }
  const double times = mean_megabytes(Runs(all[best]).first(some)) / mean_megabytes(runs);
  row.measured = fmt::format("{} times fewer than {}, {}", console::significant(times, 3),
                             kMethods[best], seeds_text(runs));
  row.holds = times >= kTimesFewerThanBest;
  if (best == kUniform.back()) row.reason = "no smaller share was tried";
  return row;
}

ClaimTable table_of(const AllRuns& all) {
  ClaimTable table{.title = "Perplexity and bytes",
                   .header = {"method", "test perplexity", "MB sent per worker", "seeds"},
                   .rows = {}};
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    const Spread perplexity = all[i].empty() ? Spread{} : perplexity_of(all[i]);
    const auto cell = [&](std::string text) {
      return all[i].empty() ? "not measured" : std::move(text);
    };
    table.rows.push_back(
        {kMethods[i],
         cell(console::significant(perplexity.mean, 4) +
              (all[i].size() < 2 ? "" : " +- " + console::significant(perplexity.error, 2))),
         cell(all[i].empty() ? "" : console::significant(mean_megabytes(all[i]), 3)),
         std::to_string(all[i].size())});
  }
  return table;
}

}  // namespace

Claim reproduce_words(Workbench& bench) {
  const Setting setting = setting_of(bench);
  bench.expect(0, setting.seeds * kMethods.size());
  AllRuns all;
  for (std::uint64_t seed = 1; seed <= setting.seeds; ++seed) {
    for (std::size_t i = 0; i < kMethods.size(); ++i) {
      auto run =
          bench.train_if_possible(fmt::format("{}-seed{}", session::safe_name(kMethods[i]), seed),
                                  options_of(setting, seed), kMethods[i]);
      if (run) all[i].push_back(std::move(*run));
    }
  }
  if (all[kUsual].empty()) throw launch::Stopped("no run was finished");
  Claim claim{.name = "words",
              .rows = {},
              .tables = {table_of(all)},
              .pictures = {},
              .setting = fmt::format("transformer of 2 layers and width 64 on words of {}, 4 "
                                     "workers, batches of 6 samples of 40 words, {} epochs, {}; "
                                     "candidates within 0.1..10 of 1%.",
                                     std::filesystem::path(setting.data).filename().string(),
                                     setting.epochs, seeds_text(all[kUsual]))};
  for (const std::size_t method : kPlanned) {
    claim.rows.push_back(bytes_row(all, method, setting.seeds));
    claim.rows.push_back(best_row(all, method, setting.seeds));
  }
  return claim;
}

}  // namespace gradwire::reproduce
