// gradwire inspect: what a .gw file says, and its frames.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/table.h"
#include "gradwire/file/gw_file.h"

namespace gradwire::cli {
namespace {

using console::Json;

// Of a file with many frames only the first and last few are shown.
constexpr std::size_t kFirstFrames = 8;
constexpr std::size_t kLastFrames = 4;

struct InspectOptions {
  std::string file;
  bool all = false;
  bool json = false;
};

double ratio(const GwFile& file) {
  return static_cast<double>(file.view.header.element_count * sizeof(float)) /
         static_cast<double>(file.bytes.size());
}

double bits_per_element(const GwFile& file) {
  return 8 * static_cast<double>(file.bytes.size()) /
         static_cast<double>(file.view.header.element_count);
}

std::vector<std::string> flags_of(const FrameHeader& header) {
  std::vector<std::string> flags;
  if (header.poison) flags.emplace_back("poison");
  if (header.repeat) flags.emplace_back("repeat");
  return flags;
}

// read_gw has verified every checksum: a file in which one is wrong does not come as far as here.
Json to_json(const GwFile& file) {
  const GwHeader& header = file.view.header;
  Json frames = Json::array();
  for (const auto& [byte_offset, frame] : file.view.frames) {
    frames.push_back({{"offset", byte_offset},
                      {"first_element", frame.header.first_element},
                      {"elements", frame.header.element_count},
                      {"payload_bytes", frame.payload.size()},
                      {"flags", flags_of(frame.header)},
                      {"checksum", fmt::format("{:016x}", frame.checksum)},
                      {"checksum_verified", true}});
  }
  return {{"file", file.path.string()},
          {"spec", file.codec->spec()},
          {"shape", header.shape ? Json(*header.shape) : Json(nullptr)},
          {"elements", header.element_count},
          {"bytes", file.bytes.size()},
          {"ratio", ratio(file)},
          {"bits_per_element", bits_per_element(file)},
          {"seed", header.seed},
          {"frames", frames}};
}

console::Table frame_table(const std::vector<GwFrame>& frames, bool all) {
  console::Table table({{.heading = "frame"},
                        {.heading = "offset\nbytes"},
                        {.heading = "first\nelement"},
                        {.heading = "elements"},
                        {.heading = "payload\nbytes"},
                        {.heading = "flags", .align = console::Table::Align::left},
                        {.heading = "checksum\n(verified)", .align = console::Table::Align::left}});
  const bool shortened = !all && frames.size() > kFirstFrames + kLastFrames;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (shortened && i == kFirstFrames) {
      table.add_row({"...", "", "", "", "", "", ""});
      i = frames.size() - kLastFrames;
    }
    const auto& [byte_offset, frame] = frames[i];
    const std::vector<std::string> flags = flags_of(frame.header);
    table.add_row({console::thousands(i), console::thousands(byte_offset),
                   console::thousands(frame.header.first_element),
                   console::thousands(frame.header.element_count),
                   console::thousands(frame.payload.size()),
                   flags.empty() ? "-" : fmt::format("{}", fmt::join(flags, " ")),
                   fmt::format("{:016x}", frame.checksum)});
  }
  return table;
}

void print_text(const GwFile& file, bool all, const console::Console& console) {
  const GwHeader& header = file.view.header;
  fmt::print(console.out,
             "{}\n"
             "  codec     {}\n"
             "  shape     {}\n"
             "  elements  {}\n"
             "  bytes     {} (ratio {}, {} bits/element)\n"
             "  seed      {}\n"
             "  frames    {}, all checksums verified\n\n{}",
             file.path.string(), file.codec->spec(),
             header.shape ? fmt::format("({})", fmt::join(*header.shape, ", ")) : "not known",
             console::thousands(header.element_count), console::thousands(file.bytes.size()),
             console::fixed(ratio(file), 2), console::fixed(bits_per_element(file), 3), header.seed,
             console::thousands(file.view.frames.size()),
             frame_table(file.view.frames, all).text(console.columns));
}

void run(const InspectOptions& options, const console::Console& console) {
  const GwFile file = read_gw(options.file);
  if (options.json) {
    console::print_json(to_json(file), console);
  } else {
    print_text(file, options.all, console);
  }
}

}  // namespace

void add_inspect_command(CLI::App& program, const console::Console& console) {
  auto* command = program.add_subcommand("inspect", "Show the header and the frames of a .gw file");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("FILE", options->file, "A .gw file")->required()->type_name("");
  command->add_flag("--all", options->all,
                    "Show every frame, not only the first and last of many; JSON always has all");
  add_json_option(*command, options->json);
  command->footer(
      "Example:\n"
      "  gradwire inspect gradient.gw");
  command->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
