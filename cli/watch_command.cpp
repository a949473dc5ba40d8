// gradwire watch: the page of runs while they train, in a browser; or their state on a terminal.
#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "gradwire/core/usage_error.h"
#include "launch/stop_request.h"
#include "watch/token.h"
#include "watch/watch.h"

namespace gradwire::cli {
namespace {

struct WatchOptions {
  std::vector<std::string> places;
  std::string listen;
  std::string token_file;
  bool json = false;
};

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

// "host:8470", "[::1]:8470"; nothing for any other text.
std::optional<Address> address_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0 || text.find('/') != text.npos) return std::nullopt;
  Address address{.host = text.substr(0, colon)};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || rest != end) return std::nullopt;
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

std::string token_of(const WatchOptions& options) {
  return options.token_file.empty() ? "" : watch::read_token_file(options.token_file);
}

void follow(const Address& address, const WatchOptions& options, const console::Console& console) {
  if (!options.listen.empty()) {
    throw UsageError("--listen serves the page of runs in directories; '" + options.places.front() +
                     "' is a watcher that serves one already");
  }
  const launch::StopRequest stop;
  watch::follow({.host = address.host,
                 .port = address.port,
                 .token = token_of(options),
                 .json = options.json},
                launch::StopRequest::is_made, console);
}

void serve(const WatchOptions& options, const console::Console& console) {
  watch::ServeOptions serving;
  serving.json = options.json;
  for (const std::string& place : options.places) serving.directories.emplace_back(place);
  if (!options.listen.empty()) {
    const auto address = address_of(options.listen);
    if (!address) {
      throw UsageError("--listen: '" + options.listen +
                       "' is no address: give HOST:PORT, such as 127.0.0.1:8470 or 0.0.0.0:8470");
    }
    serving.server.host = address->host;
    serving.server.port = address->port;
  }
  serving.server.token = token_of(options);
  const launch::StopRequest stop;
  watch::serve(std::move(serving), launch::StopRequest::is_made, console);
}

void run(const WatchOptions& options, const console::Console& console) {
  for (const std::string& place : options.places) {
    const bool is_directory = std::filesystem::is_directory(place);
    if (std::filesystem::exists(place) && !is_directory) {
      throw UsageError("'" + place + "' is a file: give the directory of a run, or HOST:PORT");
    }
    const auto address = address_of(place);
    if (is_directory || !address) continue;
    if (options.places.size() > 1) {
      throw UsageError("'" + place + "' is an address: give one address, or directories");
    }
    return follow(*address, options, console);
  }
  serve(options, console);
}

}  // namespace

void add_watch_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand("watch", "Show runs in a browser while they train");
  auto options = std::make_shared<WatchOptions>();
  app->add_option(
         "DIR|HOST:PORT", options->places,
         "Directories of runs, or with runs in them, which may begin later; or the address "
         "of another watcher, whose runs are then shown on the terminal")
      ->required()
      ->type_name("");
  app->add_option("--listen", options->listen,
                  "Where the page is served; port 0: any [127.0.0.1:8470]. An address that others "
                  "can reach needs a token: a random one is made and printed")
      ->type_name("HOST:PORT");
  app->add_option("--token-file", options->token_file,
                  "File with the token that browsers and Prometheus must give; only its owner may "
                  "read it")
      ->type_name("FILE");
  add_json_option(*app, options->json);
  app->footer(
      "Examples:\n"
      "  gradwire watch runs/cnn-natural                        (open the printed address)\n"
      "  gradwire watch runs --listen 0.0.0.0:8470              (for others, with a token)\n"
      "  gradwire watch node1:8470 --token-file watch.token     (its runs, on this terminal)");
  app->callback([options, &console] { run(*options, console); });
}

}  // namespace gradwire::cli
