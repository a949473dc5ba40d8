// gradwire codecs: every codec with its size and its guarantee.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/gradients.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "console/format.h"
#include "console/json.h"
#include "console/table.h"
#include "gradwire/codec/codec.h"

namespace gradwire::cli {
namespace {

using console::Json;

struct CodecsOptions {
  std::size_t elements = 1'048'576;
  bool json = false;
};

struct CodecRow {
  std::string spec;
  double bits_per_element = 0;
  Guarantee guarantee;
};

// Encodes one tensor with every codec.
std::vector<CodecRow> codec_rows(std::size_t elements) {
  std::vector<float> tensor(elements);
  bench::fill_gaussian({.seed = 1, .purpose = Purpose::data}, tensor);
  const Rng rng{.seed = 1};
  Workspace workspace;
  std::vector<std::byte> payload;
  std::vector<CodecRow> rows;
  for (const std::string& spec : example_codec_specs()) {
    const std::unique_ptr<const Codec> codec = make_codec(spec);
    payload.resize(std::max(payload.size(), codec->payload_bytes_max(elements)));
    Scale scale;
    codec->measure(tensor, rng, scale);
    const Encoded encoded = codec->encode(scale, {.values = tensor}, rng, payload, workspace);
    rows.push_back(
        {.spec = codec->spec(),
         .bits_per_element = 8 * static_cast<double>(encoded.bytes) / static_cast<double>(elements),
         .guarantee = codec->guarantee(elements)});
  }
  return rows;
}

Json to_json(const std::vector<CodecRow>& rows, std::size_t elements) {
  Json codecs = Json::array();
  for (const CodecRow& row : rows) {
    codecs.push_back({{"spec", row.spec},
                      {"bits_per_element", row.bits_per_element},
                      {"guarantee",
                       {{"kind", name(row.guarantee.kind)},
                        {"constant", row.guarantee.constant},
                        {"elements", elements},
                        {"reason", row.guarantee.reason}}}});
  }
  return {{"codecs", codecs}};
}

std::string describe(const Guarantee& guarantee) {
  switch (guarantee.kind) {
    case Guarantee::Kind::unbiased:
      return "unbiased, omega " + console::significant(guarantee.constant, 3);
    case Guarantee::Kind::contractive:
      return "contractive, delta " + console::significant(guarantee.constant, 3);
    case Guarantee::Kind::none:
      break;
  }
  return "none: " + guarantee.reason;
}

void print_table(const std::vector<CodecRow>& rows, std::size_t elements,
                 const console::Console& console) {
  console::Table table({{.heading = "codec", .align = console::Table::Align::left},
                        {.heading = "bits/element"},
                        {.heading = "guarantee", .align = console::Table::Align::left}});
  for (const CodecRow& row : rows) {
    table.add_row({row.spec, console::fixed(row.bits_per_element, 3), describe(row.guarantee)});
  }
  fmt::print(console.out,
             "{}\nunbiased:     E C(x) = x and E|C(x)|^2 <= (1 + omega)|x|^2\n"
             "contractive:  E|C(x) - x|^2 <= (1 - delta)|x|^2\n"
             "Bits and guarantees are for {} elements. Bits are measured on normal\nvalues.\n",
             table.text(console.columns), console::thousands(elements));
}

void run(const CodecsOptions& options, const console::Console& console) {
  const std::vector<CodecRow> rows = codec_rows(options.elements);
  if (options.json) {
    console::print_json(to_json(rows, options.elements), console);
  } else {
    print_table(rows, options.elements, console);
  }
}

}  // namespace

void add_codecs_command(CLI::App& program, const console::Console& console) {
  auto* command =
      program.add_subcommand("codecs", "List the codecs with their sizes and guarantees");
  auto options = std::make_shared<CodecsOptions>();
  add_count_option(*command, "--elements", options->elements, kElementsMax,
                   "Elements of the tensor that sizes and guarantees are for");
  add_json_option(*command, options->json);
  command->footer(
      "Example:\n"
      "  gradwire codecs --elements 1000000");
  command->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
