#include "watch/watch.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "console/json.h"
#include "console/live_line.h"
#include "gradwire/core/error.h"
#include "watch/access.h"
#include "watch/remote.h"
#include "watch/token.h"

namespace gradwire::watch {
namespace {

using namespace std::chrono_literals;
using Phase = RunState::Phase;
using Clock = std::chrono::steady_clock;

constexpr auto kTick = 100ms;
constexpr auto kAskEvery = 1s;
constexpr auto kSilenceMax = 60s;

// Says once what a run has come to; the live line has what goes on.
class Lines {
 public:
  explicit Lines(const console::Console& console) : line_(console) {}

  void show(const std::vector<RunState>& runs, const std::string& hint) {
    for (const RunState& run : runs) say_end(run);
    if (!line_.is_due()) return;
    const auto going = std::ranges::find_if(runs, [](const RunState& run) {
      return run.phase != Phase::finished && run.phase != Phase::waiting;
    });
    if (going != runs.end()) {
      line_.show(words_of(*going));
    } else if (runs.empty()) {
      line_.show(hint);
    } else {
      line_.show(words_of(runs.back()));
    }
  }

  void show(const std::string& text) { line_.show(text); }

 private:
  void say_end(const RunState& run) {
    Phase& known = phases_[run.name];
    if (known == run.phase) return;
    known = run.phase;
    if (run.phase == Phase::finished || run.phase == Phase::damaged) line_.say(words_of(run));
  }

  console::LiveLine line_;
  std::map<std::string, Phase> phases_;
};

// Whether all have ended. A comparison may have begun one run only, so that one more may come.
bool is_over(const std::vector<RunState>& runs) {
  return !runs.empty() && std::ranges::all_of(runs, [](const RunState& run) {
    return run.phase == Phase::finished;
  });
}

}  // namespace

void serve(ServeOptions options, const std::function<bool()>& wants_stop,
           const console::Console& console) {
  ServerOptions& server_options = options.server;
  const bool is_open = !is_loopback_address(server_options.host);
  if (is_open && server_options.token.empty()) server_options.token = random_token();
  Watcher watcher(options.directories);
  const Server server(watcher, server_options);
  if (options.json) {
    console::Json names = console::Json::array();
    for (const auto& directory : options.directories) names.push_back(directory.string());
    console::print_json({{"url", server.url()},
                         {"port", server.port()},
                         {"token", server_options.token},
                         {"directories", names}},
                        console);
    console.out.flush();
  } else {
    fmt::print(console.out, "{}\n", server.url());
    console.out.flush();
    fmt::print(
        console.err,
        "Open this address in a browser; /metrics has the numbers for Prometheus. Ctrl-C ends "
        "it.\n{}",
        is_open ? "Who has the address with its token can see the runs. It is not "
                  "encrypted: use it on a network that you trust.\n"
                : "");
  }
  Lines lines(console);
  while (!wants_stop()) {
    const auto states = watcher.states();
    lines.show(states, watcher.hint());
    for (int i = 0; i < 5 && !wants_stop(); ++i) std::this_thread::sleep_for(kTick);
  }
}

void follow(const FollowOptions& options, const std::function<bool()>& wants_stop,
            const console::Console& console) {
  const Remote remote(options.host, options.port, options.token);
  if (options.json) {
    console::Json runs = console::Json::array();
    for (const RunState& run : remote.ask().runs) runs.push_back(to_json(run));
    console::print_json({{"runs", std::move(runs)}}, console);
    return;
  }
  Lines lines(console);
  Clock::time_point answered = Clock::now();
  bool is_first = true;
  while (!wants_stop()) {
    try {
      const Remote::Answer answer = remote.ask();
      answered = Clock::now();
      lines.show(answer.runs, answer.hint);
      if (is_over(answer.runs)) return;
    } catch (const Error& error) {
      if (is_first || Clock::now() - answered > kSilenceMax) throw;
      lines.show(std::string(error.what()) + " (asking again)");
    }
    is_first = false;
    const auto next = Clock::now() + kAskEvery;
    while (Clock::now() < next && !wants_stop()) std::this_thread::sleep_for(kTick);
  }
}

}  // namespace gradwire::watch
