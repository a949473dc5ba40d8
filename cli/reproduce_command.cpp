// gradwire reproduce: what a publication claims, measured on this machine.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "console/json.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/file/file_failure.h"
#include "launch/stop_request.h"
#include "record/machine.h"
#include "reproduce/claims.h"
#include "reproduce/document.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct ReproduceOptions {
  std::string name;
  bool quick = false;
  std::filesystem::path data_directory;
  std::filesystem::path out;
  std::filesystem::path document;
  bool fresh = false;
  bool json = false;

  std::filesystem::path directory() const {
    if (!out.empty()) return out;
    return quick ? "runs/reproduce-quick" : "runs/reproduce";
  }
};

std::vector<reproduce::ClaimEntry> claims_called(const std::string& name) {
  std::vector<reproduce::ClaimEntry> claims;
  std::vector<std::string> names{"all"};
  for (const reproduce::ClaimEntry& entry : reproduce::all_claims()) {
    names.emplace_back(entry.name);
    if (name == "all" || name == entry.name) claims.push_back(entry);
  }
  if (!claims.empty()) return claims;
  const auto nearest = nearest_name(name, names);
  throw UsageError(fmt::format("there is no claim '{}'; {}", name,
                               nearest ? fmt::format("did you mean '{}'?", *nearest)
                                       : fmt::format("there are {}", fmt::join(names, ", "))));
}

void check(const ReproduceOptions& options) {
  const auto& data = options.data_directory;
  if (!data.empty() && !std::filesystem::is_directory(data)) {
    fail_file(data, "is no directory with data");
  }
  if (std::filesystem::is_directory(options.document)) {
    fail_file(options.document, "is a directory: --document names a file, such as results.md");
  }
  const auto parent = options.document.parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent)) {
    fail_file(parent, "is no directory: make it first, the document is to go there");
  }
  for (const reproduce::ClaimEntry& entry : claims_called(options.name)) {
    const auto kept =
        options.fresh ? std::nullopt : reproduce::read_claim(options.directory() / entry.name);
    if (!kept || kept->is_quick == options.quick) continue;
    throw UsageError(fmt::format("{} holds a {} run: give another --out, or --fresh",
                                 options.directory().string(), kept->is_quick ? "quick" : "full"));
  }
}

void remove_earlier(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::remove_all(directory, failure);
  if (failure) fail_file(directory, "cannot be removed: " + failure.message());
}

reproduce::KeptClaim reproduce(const reproduce::ClaimEntry& entry, const ReproduceOptions& options,
                               const console::Console& console) {
  const auto directory = options.directory() / entry.name;
  if (options.fresh) remove_earlier(directory);
  reproduce::Workbench bench({.claim = entry.name,
                              .directory = directory,
                              .data_directory = options.data_directory,
                              .is_quick = options.quick},
                             console);
  reproduce::KeptClaim now{.claim = entry.reproduce(bench),
                           .is_quick = options.quick,
                           .finished = reproduce::time_now(),
                           .seconds = bench.seconds(),
                           .version = GRADWIRE_VERSION,
                           .machine = record::describe_machine()};
  if (bench.pieces_done() == 0) {  // all was there already: it is as old as it was
    if (const auto before = reproduce::read_claim(directory)) {
      now.finished = before->finished;
      now.version = before->version;
      now.machine = before->machine;
    }
  }
  reproduce::write_claim(directory, now);
  return now;
}

void print(std::span<const reproduce::KeptClaim> claims, const ReproduceOptions& options,
           const console::Console& console) {
  if (options.json) {
    Json list = Json::array();
    for (const reproduce::KeptClaim& kept : claims) list.push_back(to_json(kept));
    console::print_json(claims.size() == 1 ? list[0] : Json{{"claims", list}}, console);
    return;
  }
  for (const reproduce::KeptClaim& kept : claims) {
    fmt::print(console.out, "{}\n", reproduce::claim_text(kept.claim));
    const auto directory = options.directory() / kept.claim.name;
    for (const reproduce::Picture& picture : kept.claim.pictures) {
      fmt::print(console.out, "A picture is in {}\n",
                 (directory / (picture.name + ".svg")).string());
    }
    fmt::print(console.out, "{}", &kept == &claims.back() ? "" : "\n");
  }
}

// All that are kept, those of earlier calls included.
void write_document_of_all(const ReproduceOptions& options, const console::Console& console) {
  std::vector<reproduce::KeptClaim> kept;
  for (const reproduce::ClaimEntry& entry : reproduce::all_claims()) {
    auto claim = reproduce::read_claim(options.directory() / entry.name);
    if (claim) kept.push_back(std::move(*claim));
  }
  reproduce::write_document(options.document, kept);
  fmt::print(console.err, "wrote {}: {} claim{}\n", options.document.string(), kept.size(),
             kept.size() == 1 ? "" : "s");
}

void run(const ReproduceOptions& options, const console::Console& console) {
  check(options);
  if (!options.data_directory.empty() && options.name != "all" && options.name != "diana") {
    fmt::print(console.err, "{} reads nothing from --data-dir\n", options.name);
  }
  const launch::StopRequest stop;
  std::vector<reproduce::KeptClaim> kept;
  try {
    for (const reproduce::ClaimEntry& entry : claims_called(options.name)) {
      kept.push_back(reproduce(entry, options, console));
    }
  } catch (const launch::Stopped& stopped) {
    throw launch::Stopped(
        fmt::format("{}. What is finished is in {}: the same command goes on from there",
                    stopped.what(), options.directory().string()));
  }
  print(kept, options, console);
  if (!options.document.empty()) write_document_of_all(options, console);
}

}  // namespace

void add_reproduce_command(CLI::App& program, const console::Console& console) {
  auto* app =
      program.add_subcommand("reproduce", "What publications claim, measured on this machine");
  auto options = std::make_shared<ReproduceOptions>();
  std::vector<std::string> names;
  for (const reproduce::ClaimEntry& entry : reproduce::all_claims()) names.emplace_back(entry.name);
  app->add_option("NAME", options->name, fmt::format("{} or all", fmt::join(names, ", ")))
      ->required()
      ->type_name("");
  app->add_flag("--quick", options->quick, "Smaller, in a minute or two for each claim");
  app->add_option("--data-dir", options->data_directory,
                  "Where LIBSVM files are, such as mushrooms, a5a and w8a [generated twins]")
      ->type_name("DIR");
  app->add_option("--out", options->out,
                  "Where results are kept, and gone on from [runs/reproduce, or -quick]")
      ->type_name("DIR");
  app->add_option("--document", options->document,
                  "Write a document of all claims that are kept, with pictures beside it")
      ->type_name("FILE");
  app->add_flag("--fresh", options->fresh, "Forget what is kept of these claims, and begin anew");
  add_json_option(*app, options->json);
  app->footer(
      "Stopped by Ctrl-C or killed, the same command goes on where it was.\n"
      "Examples:\n"
      "  gradwire reproduce natural --quick\n"
      "  gradwire reproduce all --data-dir libsvm --document docs/results.md");
  app->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
