// gradwire completion and gradwire man: a shell's completion and the manual page, both made from
// the options of all commands.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "gradwire/version.h"

namespace gradwire::cli {
namespace {

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) commands.push_back(command);
  }
  return commands;
}

// "--batch --batch-size ..."
std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : visible_commands(app)) words += command->get_name() + ' ';
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) words += '-' + name + ' ';
    for (const std::string& name : option->get_lnames()) words += "--" + name + ' ';
  }
  return words;
}

// A case for each command: the words so far, without options, and what may follow.
void add_cases(const CLI::App& app, const std::string& call, std::string& cases) {
  cases += fmt::format("    '{}') words='{}' ;;\n", call, words_of(app));
  for (const CLI::App* command : visible_commands(app)) {
    add_cases(*command, call.empty() ? command->get_name() : call + ' ' + command->get_name(),
              cases);
  }
}

std::string bash_completion(const CLI::App& program) {
  std::string cases;
  add_cases(program, "", cases);
  return "_gradwire() {\n"
         "  local call='' word words=''\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    [[ $word == -* ]] && break\n"
         "    call+=\"${call:+ }$word\"\n"
         "  done\n"
         "  case \"$call\" in\n" +
         cases +
         "  esac\n"
         "  if [[ ${COMP_WORDS[COMP_CWORD]} == -* || -z $call || $call == bench ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _gradwire gradwire\n";
}

// A text in roff: backslashes, and dots and quotes at the beginning of lines.
std::string roff(const std::string& text) {
  std::string result;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    is_line_start = c == '\n';
  }
  return result;
}

void add_manual(const CLI::App& app, const std::string& call, std::string& text) {
  text += fmt::format(".SS {}\n{}\n", roff(call), roff(app.get_description()));
  for (const CLI::Option* option : app.get_options()) {
    std::string names = option->get_name(false, true);
    if (option->get_positional()) names = option->get_name(true);
    const std::string type = option->get_expected_max() == 0 ? "" : " " + option->get_type_name();
    text +=
        fmt::format(".TP\n.B {}{}\n{}", roff(names), roff(type), roff(option->get_description()));
    if (!option->get_default_str().empty()) {
      text += fmt::format(" [{}]", roff(option->get_default_str()));
    }
    text += '\n';
  }
  if (!app.get_footer().empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(app.get_footer()));
  for (const CLI::App* command : visible_commands(app)) {
    add_manual(*command, call + ' ' + command->get_name(), text);
  }
}

std::string manual(const CLI::App& program) {
  std::string text = fmt::format(
      ".TH GRADWIRE 1 \"\" \"gradwire {}\" \"gradwire\"\n.SH NAME\n"
      "gradwire \\- {}\n.SH SYNOPSIS\n.B gradwire\nCOMMAND [OPTIONS]\n"
      ".SH COMMANDS\n",
      GRADWIRE_VERSION, roff(program.get_description()));
  for (const CLI::App* command : visible_commands(program)) {
    add_manual(*command, "gradwire " + command->get_name(), text);
  }
  text +=
      ".SH EXIT STATUS\n0 success; 1 failure, with a message; 2 wrong usage; 130 stopped by "
      "Ctrl\\-C. A command whose worker failed ends as the worker did.\n";
  return text;
}

}  // namespace

void add_completion_command(CLI::App& program, const console::Console& console) {
  auto* app =
      program.add_subcommand("completion", "Print the completion of this program for a shell");
  auto shell = std::make_shared<std::string>("bash");
  app->add_option("SHELL", *shell, "bash or zsh")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->type_name("");
  app->footer("Example:\n  source <(gradwire completion bash)");
  app->callback([shell, &program, &console] {
    if (*shell == "zsh") {
      fmt::print(console.out,
                 "autoload -U +X compinit && compinit\n"
                 "autoload -U +X bashcompinit && bashcompinit\n");
    }
    fmt::print(console.out, "{}", bash_completion(program));
  });
}

void add_man_command(CLI::App& program, const console::Console& console) {
  auto* app = program.add_subcommand("man", "Print the manual page of this program");
  app->footer("Example:\n  gradwire man | man -l -");
  app->callback([&program, &console] { fmt::print(console.out, "{}", manual(program)); });
}

}  // namespace gradwire::cli
