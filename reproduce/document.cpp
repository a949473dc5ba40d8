#include "reproduce/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

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
    text +=
        table_line({row.what, row.published, row.measured, row.holds ? "holds" : "does not hold"});
  }
  text += '\n';
  for (const ClaimRow& row : claim.rows) {
    if (row.reason.empty()) continue;
    text +=
        fmt::format("- {}{}: {}\n", markdown(row.what),
                    row.holds ? "" : " **does not hold**, probably because", markdown(row.reason));
  }
  return text;
}

std::string section_of(const KeptClaim& kept, const std::string& pictures) {
  const Claim& claim = kept.claim;
  std::string text = fmt::format("\n## {}: {}\n\n{}\n\n", claim.name, markdown(claim.title),
                                 markdown(claim.setting));
  text += rows_of(claim);
  for (const Picture& picture : claim.pictures) {
    text += fmt::format("\n![{}]({}/{}.svg)\n", markdown(picture.title), pictures, picture.name);
  }
  for (const ClaimTable& table : claim.tables) {
    text += fmt::format("\n{}:\n\n", markdown(table.title));
    text += table_line(table.header) + rule(table.header.size());
    for (const auto& row : table.rows) text += table_line(row);
  }
  text += fmt::format("\n{} run, finished {}, {} of work. `gradwire reproduce {}{}`\n",
                      kept.is_quick ? "Quick" : "Full", kept.finished,
                      console::duration_text(kept.seconds), claim.name,
                      kept.is_quick ? " --quick" : "");
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
    const std::string machine = machine_text(kept);
    if (std::ranges::find(machines, machine) == machines.end()) machines.push_back(machine);
  }
  return fmt::format("{}", fmt::join(machines, "; "));
}

std::string verdicts_of(std::span<const KeptClaim> claims) {
  std::string text = table_line({"claim", "holds", "does not hold"}) + rule(3);
  for (const KeptClaim& kept : claims) {
    const auto& rows = kept.claim.rows;
    const auto held = std::ranges::count_if(rows, [](const ClaimRow& row) { return row.holds; });
    text += table_line({kept.claim.name + ": " + kept.claim.title, std::to_string(held),
                        std::to_string(static_cast<std::ptrdiff_t>(rows.size()) - held)});
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
  write_text_file(directory / kClaimFile, record::to_text(to_json(kept)));
}

std::optional<KeptClaim> read_claim(const std::filesystem::path& directory) {
  const auto path = directory / kClaimFile;
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

void write_document(const std::filesystem::path& path, std::span<const KeptClaim> claims) {
  const std::string pictures = path.stem();
  std::string text = fmt::format(
      "# What publications claim, and what this program does\n\n"
      "Written by `gradwire reproduce` from what it measured; verdicts are computed, and a claim "
      "that does not\nhold here is shown as not holding. Measured by {}.\n\n{}",
      machines_of(claims), verdicts_of(claims));
  for (const KeptClaim& kept : claims) {
    text += section_of(kept, pictures);
    write_pictures(path.parent_path() / pictures, kept.claim);
  }
  write_text_file(path, text);
}

}  // namespace gradwire::reproduce
