// gradwire methods: every method with its memory and the topologies that it runs on.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "advise/recommended.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "console/json.h"
#include "console/table.h"
#include "gradwire/method/method.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire::cli {
namespace {

using console::Json;

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return parts;
}

Json to_json(const std::vector<MethodExample>& examples) {
  Json methods = Json::array();
  for (const MethodExample& example : examples) {
    methods.push_back({{"spec", example.spec},
                       {"canonical", parse_method(example.spec).spec},
                       {"memory", example.memory()},
                       {"vectors", example.vectors},
                       {"owner_vectors", example.owner_vectors},
                       {"topologies", split_list(example.topologies)},
                       {"what", example.what}});
  }
  return {{"methods", methods}};
}

void print_table(const std::vector<MethodExample>& examples, const console::Console& console) {
  console::Table table({{.heading = "method", .align = console::Table::Align::left},
                        {.heading = "memory", .align = console::Table::Align::left},
                        {.heading = "topologies", .align = console::Table::Align::left},
                        {.heading = "what it does", .align = console::Table::Align::left}});
  for (const MethodExample& example : examples) {
    table.add_row({example.spec, example.memory(), example.topologies, example.what});
  }
  fmt::print(console.out,
             "{}\n"
             "Memory is in floats per parameter, on each of N ranks. 1/N is the memory of owners\n"
             "for a rounded downlink. The brackets take any codec of 'gradwire codecs' that the\n"
             "method can use.\n\nOn a slow link:\n",
             table.text(console.columns));
  for (const advise::Recommended& each : advise::recommended()) {
    fmt::print(console.out, "  {}\n", advise::recommendation_text(each));
  }
}

}  // namespace

void add_methods_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand(
      "methods", "List the methods with their memory and the topologies they run on");
  auto json = std::make_shared<bool>(false);
  add_json_option(*app, *json);
  app->footer("Example:\n  gradwire methods --json");
  app->callback([json, &console] {
    const std::vector<MethodExample> examples = example_methods();
    *json ? console::print_json(to_json(examples), console) : print_table(examples, console);
  });
}

}  // namespace gradwire::cli
