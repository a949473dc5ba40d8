#include "reproduce/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <sstream>

#include "console/format.h"
#include "gradwire/file/file_failure.h"
#include "record/json_file.h"
#include "reproduce/svg.h"
#include "reproduce/write_text.h"

namespace gradwire::reproduce {
namespace {

using record::Json;

constexpr const char* kClaimFile = "claim.json";

void write_pictures(const std::filesystem::path& directory, const Claim& claim) {
  for (const Picture& picture : claim.pictures) {
    write_text_file(directory / (picture.name + ".svg"), svg_of(picture));
  }
}

// Where a document has its pictures and claims.
std::filesystem::path directory_beside(const std::filesystem::path& document) {
  return document.parent_path() / document.stem();
}

void write_claim_file(const std::filesystem::path& path, const KeptClaim& kept) {
  write_text_file(path, record::to_text(to_json(kept)));
}

std::optional<KeptClaim> read_claim_file(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Json document = record::read_json_file(path);
  try {
    return KeptClaim{.claim = claim_from(document),
                     .is_quick = document.at("quick"),
                     .finished = document.at("finished"),
                     .seconds = document.at("seconds"),
                     .version = document.at("version"),
                     .machine = document.at("machine")};
  } catch (const Json::exception& error) {
    fail_file(path, fmt::format("is not a claim: {}", error.what()));
  }
}

// A text as Markdown shows it, also in a table.
std::string markdown(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (std::string_view("|*<\\").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string table_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + markdown(cell) + " |";
  return line + '\n';
}

std::string rule(std::size_t columns) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns; ++i) line += "---|";
  return line + '\n';
}

std::string rows_of(const Claim& claim) {
  std::string text = table_line({"what", "published", "measured", "verdict"}) + rule(4);
  for (const ClaimRow& row : claim.rows) {
    text += table_line({row.what, row.published, row.measured, verdict_of(row)});
  }
  text += '\n';
  for (const ClaimRow& row : claim.rows) {
    if (row.reason.empty()) continue;
    text +=
        fmt::format("- {}{}: {}\n", markdown(row.what),
                    fails(row) ? " **does not hold**, probably because" : "", markdown(row.reason));
  }
  return text;
}

std::string section_of(const KeptClaim& kept, const std::string& pictures) {
  const Claim& claim = kept.claim;
  std::string text = fmt::format("\n## {}: {}\n\n", claim.name, markdown(claim.title));
  if (!kept.is_measured) {
    return text + fmt::format("Not measured. `gradwire reproduce {}` measures it.\n", claim.name);
  }
  text += markdown(claim.setting) + "\n\n";
  if (!claim.missing.empty()) {
    text += fmt::format("**Partial**: {} are missing.\n\n", claim.missing);
  }
  text += rows_of(claim);
  for (const Picture& picture : claim.pictures) {
    text += fmt::format("\n![{}]({}/{}.svg)\n", markdown(picture.title), pictures, picture.name);
  }
  for (const ClaimTable& table : claim.tables) {
    text += fmt::format("\n{}:\n\n", markdown(table.title));
    text += table_line(table.header) + rule(table.header.size());
    for (const auto& row : table.rows) text += table_line(row);
  }
  text += fmt::format(
      "\n{} run, {} {}, {} of work. `gradwire reproduce {}{}`\n", kept.is_quick ? "Quick" : "Full",
      claim.missing.empty() ? "finished" : "as of", kept.finished,
      console::duration_text(kept.seconds), claim.name, kept.is_quick ? " --quick" : "");
  return text;
}

std::string machine_text(const KeptClaim& kept) {
  const auto word = [&](const char* field) {
    const Json& value = kept.machine.value(field, Json("unknown"));
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  return fmt::format("gradwire {} on {} cores, {}, {}", kept.version, word("cpus"), word("system"),
                     word("compiler"));
}

// Each machine once.
std::string machines_of(std::span<const KeptClaim> claims) {
  std::vector<std::string> machines;
  for (const KeptClaim& kept : claims) {
    if (!kept.is_measured) continue;
    const std::string machine = machine_text(kept);
    if (std::ranges::find(machines, machine) == machines.end()) machines.push_back(machine);
  }
  if (machines.empty()) return "Nothing was measured by this version.";
  return fmt::format("Measured by {}.", fmt::join(machines, "; "));
}

std::string title_of(const KeptClaim& kept) { return kept.claim.name + ": " + kept.claim.title; }

std::string verdicts_of(std::span<const KeptClaim> claims) {
  constexpr std::array kVerdicts = {"holds", "does not hold", "partial", "not measured"};
  std::string text = table_line({"claim", "holds", "does not hold", "partial", "not measured"}) +
                     rule(1 + kVerdicts.size());
  for (const KeptClaim& kept : claims) {
    std::vector<std::string> cells = {title_of(kept)};
    for (const std::string_view verdict : kVerdicts) {
      const auto count = std::ranges::count(kept.claim.rows, verdict,
                                            [](const auto& row) { return verdict_of(row); });
      cells.push_back(kept.is_measured ? std::to_string(count) : "-");
    }
    if (!kept.is_measured) cells.back() = "all";
    text += table_line(cells);
  }
  return text;
}

// The rows that have headlines. A claim without results, and one without its best-known rows, has a
// line all the same.
std::string summary_of(std::span<const KeptClaim> claims) {
  std::string text = table_line({"", "published", "measured", "verdict"}) + rule(4);
  for (const KeptClaim& kept : claims) {
    if (!kept.is_measured) text += table_line({title_of(kept), "", "", "not measured"});
    const std::string quick = kept.is_quick ? " (quick run)" : "";
    for (const ClaimRow& row : kept.claim.rows) {
      if (row.headline.empty()) continue;
      text += table_line({row.headline, row.published, row.measured, verdict_of(row) + quick});
    }
  }
  return text;
}

}  // namespace

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

Json to_json(const KeptClaim& kept) {
  Json document = to_json(kept.claim);
  document["quick"] = kept.is_quick;
  document["finished"] = kept.finished;
  document["seconds"] = kept.seconds;
  document["version"] = kept.version;
  document["machine"] = kept.machine;
  return document;
}

void write_claim(const std::filesystem::path& directory, const KeptClaim& kept) {
  write_pictures(directory, kept.claim);
  write_claim_file(directory / kClaimFile, kept);
}

std::optional<KeptClaim> read_claim(const std::filesystem::path& directory) {
  return read_claim_file(directory / kClaimFile);
}

std::optional<KeptClaim> read_claim_beside(const std::filesystem::path& document,
                                           const std::string& name) {
  return read_claim_file(directory_beside(document) / (name + ".json"));
}

void write_document(const std::filesystem::path& path, std::span<const KeptClaim> claims) {
  const std::string pictures = path.stem();
  std::string text = fmt::format(
      "# What publications claim, and what this program does\n\n"
      "Written by `gradwire reproduce` from what it measured; verdicts are computed, and a claim "
      "that does not\nhold here is shown as not holding. A row is partial if runs that it needs "
      "are not "
      "finished. {}\n\n{}",
      machines_of(claims), verdicts_of(claims));
  text += fmt::format("\nIn short:\n\n{}\n{}{}\n", kSummaryBegin, summary_of(claims), kSummaryEnd);
  for (const KeptClaim& kept : claims) {
    text += section_of(kept, pictures);
    if (!kept.is_measured) continue;
    write_pictures(directory_beside(path), kept.claim);
    write_claim_file(directory_beside(path) / (kept.claim.name + ".json"), kept);
  }
  write_text_file(path, text);
}

void write_summary(const std::filesystem::path& path, std::span<const KeptClaim> claims) {
  std::ifstream in(path);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) fail_file(path, "cannot be read");
  std::string text = content.str();
  const std::size_t begin = text.find(std::string(kSummaryBegin) + '\n');
  const std::size_t end = text.find(std::string(kSummaryEnd) + '\n');
  if (begin == text.npos || end == text.npos || end < begin) {
    fail_file(path, fmt::format("has no lines '{}' and '{}'", kSummaryBegin, kSummaryEnd));
  }
  const std::size_t first = begin + std::string_view(kSummaryBegin).size() + 1;
  write_text_file(path, text.replace(first, end - first, summary_of(claims)));
}

}  // namespace gradwire::reproduce
