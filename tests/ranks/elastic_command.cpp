// ranks elastic [name=value...]: a process of an elastic run, for tests. It trains a small model
// with made-up gradients, and writes a line for everything that happens:
//   listening ADDRESS id=HEX
//   commit STEP hash=HEX view=N members=N shares=N lost=1,2 ms=T replay=0|1
//   view NUMBER members=N seconds=S departed=HEX,HEX
//   end REASON settled=STEP committed=STEP hash=HEX
// T are milliseconds of the system's monotonic clock, which all processes share. tools/storm reads
// these lines.
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gradwire/core/error.h"
#include "gradwire/elastic/elastic_group.h"
#include "gradwire/wire/frame.h"
#include "tests/ranks/commands.h"

namespace gradwire::ranks {
namespace {

std::atomic<bool> wants_to_leave = false;

struct Settings {
  explicit Settings(Arguments arguments) {
    for (const std::string& argument : arguments) {
      const std::size_t equals = argument.find('=');
      if (equals == std::string::npos) throw Error("'" + argument + "' is not name=value");
      values[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
  }
  std::uint64_t number(const std::string& name, std::uint64_t otherwise) const {
    return values.contains(name) ? std::stoull(values.at(name)) : otherwise;
  }
  std::map<std::string, std::string> values;
};

long milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string hex(const membership::MemberId& id) {
  char text[33];
  std::snprintf(text, sizeof text, "%016lx%016lx", static_cast<unsigned long>(id.high),
                static_cast<unsigned long>(id.low));
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

// A model and its gradients. A sample's gradient pulls the parameters towards a point of its own.
class Model {
 public:
  explicit Model(std::size_t elements) {
    tensors = {{"weights", {elements}}, {"bias", {37}}};
    for (std::size_t t = 0; t < 2; ++t) {
      parameters_[t].resize(tensors[t].elements());
      gradients_[t].resize(tensors[t].elements());
      spans[t] = gradients_[t];
    }
  }

  void compute(std::uint64_t first_sample, std::size_t samples) {
    for (std::size_t t = 0; t < 2; ++t) {
      auto& gradient = gradients_[t];
      std::fill(gradient.begin(), gradient.end(), 0.0F);
      for (std::size_t s = 0; s < samples; ++s) {
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          const auto noise = static_cast<float>((first_sample + s) * 31 % 17) - 8;
          gradient[i] +=
              (parameters_[t][i] - static_cast<float>(i % 7) + noise) / static_cast<float>(samples);
        }
      }
    }
  }

  void apply(std::span<const std::span<float>> outputs) {
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t i = 0; i < outputs[t].size(); ++i) {
        parameters_[t][i] -= 0.05F * outputs[t][i];
      }
    }
  }

  std::uint64_t hash() const {
    std::uint64_t hash = 0;
    for (const auto& tensor : parameters_) hash = checksum(std::as_bytes(std::span(tensor)), hash);
    return hash;
  }
  std::vector<std::byte> save() const {
    std::vector<std::byte> bytes;
    for (const auto& tensor : parameters_) {
      const auto part = std::as_bytes(std::span(tensor));
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }
  void load(std::span<const std::byte> bytes) {
    for (auto& tensor : parameters_) {
      const std::size_t count = tensor.size() * sizeof(float);
      if (bytes.size() < count) throw Error("a state that is too short");
      std::memcpy(tensor.data(), bytes.data(), count);
      bytes = bytes.subspan(count);
    }
  }

  std::vector<MethodTensor> tensors;
  std::array<std::span<float>, 2> spans;

 private:
  std::array<std::vector<float>, 2> parameters_;
  std::array<std::vector<float>, 2> gradients_;
};

template <class... Values>
void say(const char* format, Values... values) {
  std::printf(format, values...);
  std::fflush(stdout);
}

}  // namespace

int elastic_command(Arguments arguments) {
  const Settings settings(arguments);
  signal(SIGTERM, [](int) { wants_to_leave = true; });
  Model model(settings.number("elements", 5000));
  const std::uint64_t last = settings.number("steps", ~std::uint64_t{0});
  const std::uint64_t step_ms = settings.number("ms", 5);
  const std::size_t batch = settings.number("batch", 64);

  ElasticOptions options;
  options.listen = settings.text("listen", "127.0.0.1:0");
  options.join = split(settings.text("join", ""));
  options.global_batch = batch;
  options.members_least = settings.number("least", 1);
  options.silence = std::chrono::milliseconds(settings.number("silence", 3000));
  options.wait = std::chrono::milliseconds(settings.number("wait", 20000));
  options.chunk_bytes = settings.number("chunk", 4096);
  options.donate_bytes_per_second = static_cast<double>(settings.number("rate", 0));
  options.security.secret_file = settings.text("secret", "");
  options.topology = topology_of(settings.text("topology", "auto"));
  options.hosts = settings.text("hosts", "auto") == "auto";
  options.codec_threads = 1;
  options.buffers = {{"mean", {3}}};
  options.on_event = [](const ElasticEvent& event) {
    if (event.kind == ElasticEvent::Kind::view) {
      std::string departed;
      for (const membership::Departed& one : event.departed) {
        departed += (departed.empty() ? "" : ",") + hex(one.id);
      }
      say("view %lu members=%zu seconds=%.3f departed=%s\n",
          static_cast<unsigned long>(event.view.number), event.view.members.size(),
          event.change_seconds.count(), departed.c_str());
    } else {
      say("event %s\n", event.text.c_str());
    }
  };

  std::array<float, 3> buffer{};
  ElasticCallbacks callbacks;
  callbacks.apply = [&](const ElasticUpdate& update) {
    if (!update.is_average) model.apply(update.outputs);
    std::string lost;
    for (const std::size_t share : update.lost_shares) {
      lost += (lost.empty() ? "" : ",") + std::to_string(share);
    }
    say("commit %lu hash=%016lx view=%lu members=%zu shares=%zu lost=%s ms=%ld replay=%d\n",
        static_cast<unsigned long>(update.step), static_cast<unsigned long>(model.hash()),
        static_cast<unsigned long>(update.view), update.members, update.shares, lost.c_str(),
        milliseconds_now(), update.is_replay ? 1 : 0);
  };
  callbacks.save = [&] { return model.save(); };
  callbacks.load = [&](std::span<const std::byte> bytes) { model.load(bytes); };
  callbacks.hash = [&](std::uint64_t) { return model.hash(); };

  ElasticGroup group(model.tensors, settings.text("spec", "ef(topk(5%))"), options, callbacks);
  say("listening %s id=%s\n", group.address().c_str(), hex(group.self().id).c_str());
  const std::uint64_t average_every = settings.number("average", 0);
  // next() may wait for members while somebody wants this process to leave.
  std::atomic<bool> is_over = false;
  std::thread watcher([&] {
    while (!is_over) {
      if (wants_to_leave.exchange(false)) group.leave();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  while (const auto turn = group.next()) {
    if (average_every > 0 && turn->step % average_every == 0) {
      buffer.fill(static_cast<float>(turn->rank));
      const std::span<float> span(buffer);
      group.average({&span, 1});
      continue;
    }
    // Even shares; the first ones are one sample larger if that does not come out even.
    std::size_t first = 0, samples = 0;
    if (turn->share) {
      first = batch * *turn->share / turn->shares;
      samples = batch * (*turn->share + 1) / turn->shares - first;
    }
    model.compute(turn->step * batch + first, samples);
    std::this_thread::sleep_for(std::chrono::milliseconds(step_ms));
    const auto report =
        group.step(model.spans, {.samples = samples, .is_last = turn->step == last});
    if (report && report->attempts > 1) {
      say("repeated %lu attempts=%zu\n", static_cast<unsigned long>(report->step),
          report->attempts);
    }
  }
  is_over = true;
  watcher.join();
  say("end %s settled=%lu committed=%lu hash=%016lx\n", membership::name(group.end()->reason),
      static_cast<unsigned long>(group.end()->settled),
      static_cast<unsigned long>(group.committed()), static_cast<unsigned long>(model.hash()));
  return group.end()->reason == membership::EndReason::left ? 0 : 1;
}

}  // namespace gradwire::ranks
