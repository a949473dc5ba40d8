// Stored claims, and the Markdown document of all claims with its pictures.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "reproduce/claim.h"

namespace gradwire::reproduce {

// A claim, and when, how long and where it was measured.
struct KeptClaim {
  Claim claim;
  bool is_measured = true;  // false: there are no results, and nothing below
  bool is_quick = false;
  std::string finished = {};  // "2026-11-16 23:15 UTC"
  double seconds = 0;         // of all its pieces of work
  std::string version = {};
  record::Json machine = {};  // as record::describe_machine has it

  bool operator==(const KeptClaim&) const = default;
};

// The present time in this format.
std::string time_now();

record::Json to_json(const KeptClaim& kept);

// claim.json and the pictures in the claim's directory. Throws FileError.
void write_claim(const std::filesystem::path& directory, const KeptClaim& kept);
// Empty if there is none. Throws FileError.
std::optional<KeptClaim> read_claim(const std::filesystem::path& directory);

// Writes the document. Pictures go to a directory beside it, with its name without extension. So
// does NAME.json for each measured claim: the document can be written again on another machine,
// with claims measured there. Throws FileError.
void write_document(const std::filesystem::path& path, std::span<const KeptClaim> claims);
// A claim as the document at that path has it. Empty if it has none. Throws FileError.
std::optional<KeptClaim> read_claim_beside(const std::filesystem::path& document,
                                           const std::string& name);

// Replaces the summary in a document of other content: the lines between kSummaryBegin and
// kSummaryEnd. Throws FileError, also if there are no such lines.
inline constexpr const char* kSummaryBegin = "<!-- summary, written by gradwire reproduce -->";
inline constexpr const char* kSummaryEnd = "<!-- end of summary -->";
void write_summary(const std::filesystem::path& path, std::span<const KeptClaim> claims);

}  // namespace gradwire::reproduce
