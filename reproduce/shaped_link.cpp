#include "reproduce/shaped_link.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "console/shell_word.h"
#include "launch/exit_codes.h"
#include "launch/stop_request.h"

namespace gradwire::reproduce {
namespace {

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Below the current directory, or beside the directory that the program was built in.
std::filesystem::path find_netlab() {
  for (const auto& root :
       {std::filesystem::current_path(), this_program().parent_path().parent_path()}) {
    const auto netlab = root / "tools" / "netlab";
    if (std::filesystem::exists(netlab)) return netlab;
  }
  return {};
}

// The hosts are gone when it ends, however it ends.
std::string script_for(const ShapedRun& run) {
  const std::string netlab = console::shell_word(find_netlab());
  std::string train = console::shell_word(this_program()) + " train";
  for (const std::string& argument : run.arguments) train += ' ' + console::shell_word(argument);
  train += fmt::format(" --out {} --overwrite", console::shell_word(run.directory));
  return fmt::format(
      "export NETLAB=gwrepro{0}; {1} up {2} {3} || exit 3; down() {{ {1} down; }}; trap down EXIT; "
      "trap 'exit {6}' INT TERM; {1} run {4} >{5} 2>&1",
      getpid(), netlab, run.hosts, run.rate, train,
      console::shell_word(run.directory.string() + ".log"), launch::kStopped);
}

}  // namespace

std::string why_no_shaped_link() {
  if (geteuid() != 0) return "network namespaces take root";
  // Hosts run this very program. Another one, such as a test, would call itself for ever.
  if (this_program().filename() != "gradwire") return "this program is not called gradwire";
  if (find_netlab().empty()) return "there is no tools/netlab here";
  return "";
}

record::RunRecord train_on_shaped_link(const ShapedRun& run) {
  const int status = std::system(script_for(run).c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : launch::kStopped;
  if (code == launch::kStopped) throw launch::Stopped("stopped while hosts were training");
  if (code == 3) throw Error("this machine cannot make network namespaces");
  if (code != 0) {
    throw Error(fmt::format("training between hosts failed; see {}.log", run.directory.string()));
  }
  return record::read_run(run.directory / record::kRunFile);
}

}  // namespace gradwire::reproduce
