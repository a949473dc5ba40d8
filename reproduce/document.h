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

// claim.json and the pictures in the claim's directory. Throw FileError.
void write_claim(const std::filesystem::path& directory, const KeptClaim& kept);
// Empty if there is none.
std::optional<KeptClaim> read_claim(const std::filesystem::path& directory);

// Writes the document. Its pictures go to a directory beside it, with its name without extension.
// Throws FileError.
void write_document(const std::filesystem::path& path, std::span<const KeptClaim> claims);

// Replaces the summary in a document of other content: the lines between kSummaryBegin and
// kSummaryEnd. Throws FileError, also if there are no such lines.
inline constexpr const char* kSummaryBegin = "<!-- summary, written by gradwire reproduce -->";
inline constexpr const char* kSummaryEnd = "<!-- end of summary -->";
void write_summary(const std::filesystem::path& path, std::span<const KeptClaim> claims);

}  // namespace gradwire::reproduce
