// gradwire reproduce: what a publication claims, measured on this machine.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "console/json.h"
#include "gradwire/file/file_failure.h"
#include "launch/stop_request.h"
#include "reproduce/reproduce.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct ReproduceCommand {
  std::string name;
  reproduce::ReproduceOptions options;
  std::filesystem::path document;
  std::filesystem::path summary;
  bool json = false;
};

void check_paths(const ReproduceCommand& command) {
  const auto& data = command.options.data_directory;
  if (!data.empty() && !std::filesystem::is_directory(data)) {
    fail_file(data, "is not a directory");
  }
  if (std::filesystem::is_directory(command.document)) {
    fail_file(command.document, "is a directory: --document names a file, such as results.md");
  }
  const auto parent = command.document.parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent)) {
    fail_file(parent, "is not a directory: create it first; the document is written there");
  }
}

void print(std::span<const reproduce::KeptClaim> claims, const ReproduceCommand& command,
           const console::Console& console) {
  if (command.json) {
    Json list = Json::array();
    for (const reproduce::KeptClaim& kept : claims) list.push_back(to_json(kept));
    console::print_json(list.size() == 1 ? list[0] : Json{{"claims", list}}, console);
    return;
  }
  for (const reproduce::KeptClaim& kept : claims) {
    fmt::print(console.out, "{}\n", reproduce::claim_text(kept.claim));
    const auto directory = command.options.directory / kept.claim.name;
    for (const reproduce::Picture& picture : kept.claim.pictures) {
      fmt::print(console.out, "A picture is in {}\n",
                 (directory / (picture.name + ".svg")).string());
    }
    fmt::print(console.out, "{}", &kept == &claims.back() ? "" : "\n");
  }
}

// Of all kept claims, those of earlier calls and of an earlier document included.
void write_documents(const ReproduceCommand& command, const console::Console& console) {
  const auto kept = reproduce::read_claims(command.options.directory, command.document);
  const auto measured = std::ranges::count_if(kept, &reproduce::KeptClaim::is_measured);
  const std::string claims = fmt::format("{} of {} claims have results", measured, kept.size());
  if (!command.document.empty()) {
    reproduce::write_document(command.document, kept);
    fmt::print(console.err, "wrote {}: {}\n", command.document.string(), claims);
  }
  if (!command.summary.empty()) {
    reproduce::write_summary(command.summary, kept);
    fmt::print(console.err, "wrote the summary in {}: {}\n", command.summary.string(), claims);
  }
}

// Nothing if finished work is not enough, and no more is to be done.
std::optional<reproduce::KeptClaim> measure(const reproduce::ClaimEntry& entry,
                                            const reproduce::ReproduceOptions& options,
                                            const console::Console& console) {
  try {
    return reproduce::reproduce_claim(entry, options, console);
  } catch (const launch::Stopped& stopped) {
    fmt::print(console.err, "{}: {}\n", entry.name, stopped.what());
    return std::nullopt;
  }
}

void run(ReproduceCommand command, const console::Console& console) {
  reproduce::ReproduceOptions& options = command.options;
  if (options.directory.empty()) {
    options.directory = options.is_quick ? "runs/reproduce-quick" : "runs/reproduce";
  }
  check_paths(command);
  const auto claims = reproduce::find_claims(command.name);
  reproduce::check_kept(claims, options);
  if (!options.data_directory.empty() &&
      std::ranges::none_of(claims, &reproduce::ClaimEntry::reads_data)) {
    fmt::print(console.err, "{} reads nothing from --data-dir\n", command.name);
  }
  const launch::StopRequest stop;
  std::vector<reproduce::KeptClaim> kept;
  for (const reproduce::ClaimEntry& entry : claims) {
    if (auto claim = measure(entry, options, console)) kept.push_back(std::move(*claim));
  }
  print(kept, command, console);
  write_documents(command, console);
  if (stop.is_made()) {
    throw launch::Stopped(
        fmt::format("stopped. Finished measurements are in {}: the same command resumes from there",
                    options.directory.string()));
  }
}

}  // namespace

void add_reproduce_command(CLI::App& program, const console::Console& console) {
  auto* app =
      program.add_subcommand("reproduce", "Measure the claims of publications on this machine");
  auto command = std::make_shared<ReproduceCommand>();
  std::vector<std::string> names;
  for (const reproduce::ClaimEntry& entry : reproduce::all_claims()) names.emplace_back(entry.name);
  app->add_option("NAME", command->name, fmt::format("{} or all", fmt::join(names, ", ")))
      ->required()
      ->type_name("");
  app->add_flag("--quick", command->options.is_quick,
                "Smaller measurements: a minute or two for each claim");
  app->add_option("--data-dir", command->options.data_directory,
                  "Directory of mushrooms, a5a and w8a (LIBSVM) and of wikitext-2 [generated data]")
      ->type_name("DIR");
  app->add_option(
         "--out", command->options.directory,
         "Directory of the results; a repeated command resumes there [runs/reproduce, or -quick]")
      ->type_name("DIR");
  app->add_option("--document", command->document,
                  "Write a document of all finished claims, with pictures and data beside it. "
                  "Claims without results here stay as the document has them")
      ->type_name("FILE");
  app->add_flag("--fresh", command->options.is_fresh,
                "Discard earlier results of these claims, and start again");
  app->add_flag("--kept", command->options.is_kept_only,
                "Measure nothing: show what finished measurements say so far");
  app->add_option("--summary", command->summary,
                  "Replace the summary in a document, between its two lines of comment")
      ->type_name("FILE");
  add_json_option(*app, command->json);
  app->footer(
      "After Ctrl-C or a kill, the same command resumes.\n"
      "Examples:\n"
      "  gradwire reproduce natural --quick\n"
      "  gradwire reproduce all --data-dir libsvm --document docs/results.md");
  app->callback([command, &console] { run(*command, console); });
}

}  // namespace gradwire::cli
