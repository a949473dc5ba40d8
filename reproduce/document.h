// The claims as they are kept, and as one Markdown document with pictures beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "reproduce/claim.h"

namespace gradwire::reproduce {

// A claim, and how it came about.
struct KeptClaim {
  Claim claim;
  bool is_quick = false;
  std::string finished;  // "2026-11-16 23:15 UTC"
  double seconds = 0;    // of all its pieces of work
  std::string version;
  record::Json machine;  // as record::describe_machine has it

  bool operator==(const KeptClaim&) const = default;
};

// The time now, in such words.
std::string time_now();

record::Json to_json(const KeptClaim& kept);

// claim.json and the pictures in the claim's directory. Throw FileError.
void write_claim(const std::filesystem::path& directory, const KeptClaim& kept);
// Nothing where there is none.
std::optional<KeptClaim> read_claim(const std::filesystem::path& directory);

// The document, with pictures in the directory beside it that has its name without the ending.
// Throws FileError.
void write_document(const std::filesystem::path& path, std::span<const KeptClaim> claims);

}  // namespace gradwire::reproduce
