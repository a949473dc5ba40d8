// gradwire secret: makes the file that all workers of a run share.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "cli/commands.h"
#include "gradwire/transport/secret.h"

namespace gradwire::cli {

void add_secret_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand(
      "secret", "Make a secret, so that workers recognise each other and encrypt");
  auto path = std::make_shared<std::string>();
  app->add_option("FILE", *path, "The new file; a file that exists is not replaced")
      ->required()
      ->type_name("");
  app->footer(
      "Example:\n"
      "  gradwire secret run.secret\n"
      "  scp -p run.secret node2:\n"
      "  gradwire train --secret run.secret ...      (on every host)");
  app->callback([path, &console] {
    make_secret_file(*path);
    fmt::print(console.out,
               "{0} has a new secret, which only you may read.\n"
               "Copy it to all hosts of the run over a channel that you trust (scp -p {0} HOST:),\n"
               "and start every worker with --secret {0} or GRADWIRE_SECRET_FILE={0}.\n",
               *path);
  });
}

}  // namespace gradwire::cli
