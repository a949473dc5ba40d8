// gradwire report: the page again, from what runs have recorded.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "report/page.h"
#include "report/read_runs.h"

namespace gradwire::cli {
namespace {

struct ReportOptions {
  std::vector<std::filesystem::path> directories;
  std::filesystem::path out;
  bool json = false;
};

std::filesystem::path page_path(const ReportOptions& options) {
  if (!options.out.empty()) return options.out;
  if (options.directories.size() > 1) return report::kPageFile;
  return options.directories.front() / report::kPageFile;
}

void run(const ReportOptions& options, const console::Console& console) {
  const std::vector<report::Run> runs = report::read_runs(options.directories);
  const std::filesystem::path page = page_path(options);
  report::write_page(page, runs);
  fmt::print(console.err, "wrote {}: {} run{}\n", page.string(), console::thousands(runs.size()),
             runs.size() == 1 ? "" : "s");
  if (options.json) console::print_json({{"page", page.string()}, {"runs", runs.size()}}, console);
}

}  // namespace

void add_report_command(CLI::App& program, const console::Console& console) {
  auto* app =
      program.add_subcommand("report", "Write the page of finished runs again, from their records");
  auto options = std::make_shared<ReportOptions>();
  app->add_option("DIR", options->directories, "Directories of runs, or of comparisons")
      ->required()
      ->type_name("");
  app->add_option("--out", options->out,
                  "The page [DIR/report.html; of several directories, ./report.html]")
      ->type_name("FILE");
  add_json_option(*app, options->json);
  app->footer("Example:\n  gradwire report runs/none runs/natural --out both.html");
  app->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
