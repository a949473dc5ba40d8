// From the name of a claim to its measurement on this machine. Every claim has a directory of its
// own, named after it, in which finished work is kept. For one thread.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "console/console.h"
#include "reproduce/claims.h"
#include "reproduce/document.h"

namespace gradwire::reproduce {

// The claim of that name, or all claims but the long ones for "all". Throws UsageError for an
// unknown name.
std::vector<ClaimEntry> find_claims(const std::string& name);

struct ReproduceOptions {
  std::filesystem::path directory;            // the claims' directories are in it
  std::filesystem::path data_directory = {};  // LIBSVM files; empty: generated twins
  bool is_quick = false;
  bool is_fresh = false;      // removes all kept work of a claim first
  bool is_kept_only = false;  // measures nothing: the claims that finished work is enough for
};

// Throws UsageError if the stored results are quick and full ones were asked for, or the reverse.
void check_kept(std::span<const ClaimEntry> claims, const ReproduceOptions& options);

// Measures the claim, and writes it to its directory. Finished work is not done again. If the user
// asks to stop, the claim is partial as far as it can be; otherwise throws Stopped. Also throws
// FileError, and what training throws.
KeptClaim reproduce_claim(const ClaimEntry& entry, const ReproduceOptions& options,
                          const console::Console& console);

// The kept claims, in the order of all_claims(), and those without results. A claim that is not in
// the directory is taken from the document, if there is one. Throws FileError.
std::vector<KeptClaim> read_claims(const std::filesystem::path& directory,
                                   const std::filesystem::path& document = {});

}  // namespace gradwire::reproduce
