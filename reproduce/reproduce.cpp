#include "reproduce/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gradwire/codec/spec.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/version.h"
#include "record/machine.h"
#include "reproduce/workbench.h"

namespace gradwire::reproduce {
namespace {

void remove_kept(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::remove_all(directory, failure);
  if (failure) fail_file(directory, "cannot be removed: " + failure.message());
}

}  // namespace

std::vector<ClaimEntry> find_claims(const std::string& name) {
  std::vector<ClaimEntry> claims;
  std::vector<std::string> names{"all"};
  for (const ClaimEntry& entry : all_claims()) {
    names.emplace_back(entry.name);
    if ((name == "all" && !entry.is_long) || name == entry.name) claims.push_back(entry);
  }
  if (!claims.empty()) return claims;
  const auto nearest = nearest_name(name, names);
  throw UsageError(fmt::format("there is no claim '{}'; {}", name,
                               nearest ? fmt::format("did you mean '{}'?", *nearest)
                                       : fmt::format("claims are {}", fmt::join(names, ", "))));
}

void check_kept(std::span<const ClaimEntry> claims, const ReproduceOptions& options) {
  if (options.is_fresh) return;
  for (const ClaimEntry& entry : claims) {
    const auto kept = read_claim(options.directory / entry.name);
    if (!kept || kept->is_quick == options.is_quick) continue;
    throw UsageError(fmt::format("{} holds a {} run: give another --out, or --fresh",
                                 options.directory.string(), kept->is_quick ? "quick" : "full"));
  }
}

KeptClaim reproduce_claim(const ClaimEntry& entry, const ReproduceOptions& options,
                          const console::Console& console) {
  const auto directory = options.directory / entry.name;
  if (options.is_fresh) remove_kept(directory);
  Workbench bench({.claim = entry.name,
                   .directory = directory,
                   .data_directory = options.data_directory,
                   .is_quick = options.is_quick,
                   .is_kept_only = options.is_kept_only},
                  console);
  KeptClaim now{.claim = entry.reproduce(bench),
                .is_quick = options.is_quick,
                .finished = time_now(),
                .seconds = bench.seconds(),
                .version = GRADWIRE_VERSION,
                .machine = record::describe_machine()};
  now.claim.title = entry.title;
  now.claim.missing = bench.missing();
  if (bench.lacks_seeds()) {
    for (ClaimRow& row : now.claim.rows) row.extent = std::max(row.extent, Extent::part);
  }
  if (bench.pieces_done() == 0) {  // all was there already: it is as old as it was
    if (const auto before = read_claim(directory)) {
      now.finished = before->finished;
      now.version = before->version;
      now.machine = before->machine;
    }
  }
  write_claim(directory, now);
  return now;
}

std::vector<KeptClaim> read_claims(const std::filesystem::path& directory,
                                   const std::filesystem::path& document) {
  std::vector<KeptClaim> kept;
  for (const ClaimEntry& entry : all_claims()) {
    auto claim = read_claim(directory / entry.name);
    if (!claim && !document.empty()) claim = read_claim_beside(document, entry.name);
    kept.push_back(claim.value_or(KeptClaim{
        .claim =
            {.name = entry.name, .title = entry.title, .rows = {}, .tables = {}, .pictures = {}},
        .is_measured = false}));
  }
  return kept;
}

}  // namespace gradwire::reproduce
