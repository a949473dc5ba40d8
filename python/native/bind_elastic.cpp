// ElasticGroup as a class of the module. Its calls wait without Python's lock, and its callbacks
// take it again. Tensors come as addresses of their floats.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradwire/elastic/elastic_group.h"
#include "python/native/bindings.h"
#include "python/native/options.h"

namespace gradwire::python {
namespace py = pybind11;
namespace {

using NamedShapes = std::vector<std::pair<std::string, std::vector<std::size_t>>>;
using Floats = std::pair<std::uintptr_t, std::size_t>;  // that Python keeps alive

std::vector<MethodTensor> tensors_of(const NamedShapes& shapes) {
  std::vector<MethodTensor> tensors;
  for (const auto& [name, shape] : shapes) tensors.push_back({.name = name, .shape = shape});
  return tensors;
}

std::vector<std::span<float>> spans_of(const std::vector<Floats>& floats) {
  std::vector<std::span<float>> spans;
  for (const auto& [address, count] : floats) {
    spans.emplace_back(reinterpret_cast<float*>(address), count);
  }
  return spans;
}

// What happens to the group, for a thread of Python. The group's own threads never wait for
// Python's lock: while a program computes, they answer other members.
class Events {
 public:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
    changed_.notify_one();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_one();
  }
  // Waits. Nothing after close().
  std::optional<std::string> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || !texts_.empty(); });
    if (texts_.empty()) return std::nullopt;
    std::string text = std::move(texts_.front());
    texts_.pop_front();
    return text;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;
  bool is_closed_ = false;
};

py::dict to_dict(const ElasticUpdate& update) {
  std::vector<std::uintptr_t> addresses;
  for (const auto& output : update.outputs) {
    addresses.push_back(reinterpret_cast<std::uintptr_t>(output.data()));
  }
  py::dict dict;
  dict["step"] = update.step;
  dict["outputs"] = addresses;
  dict["is_poisoned"] = update.is_poisoned;
  dict["is_average"] = update.is_average;
  dict["view"] = update.view;
  dict["members"] = update.members;
  dict["shares"] = update.shares;
  dict["lost_shares"] = update.lost_shares;
  dict["is_replay"] = update.is_replay;
  return dict;
}

// A function of Python, which other threads may let go.
std::shared_ptr<py::function> keep(const py::function& function) {
  return {new py::function(function), [](py::function* kept) {
            const py::gil_scoped_acquire lock;
            delete kept;
          }};
}

// Python's functions, called with its lock. An exception of theirs goes through the library.
ElasticCallbacks callbacks_of(const py::function& apply, const py::function& save,
                              const py::function& load) {
  ElasticCallbacks callbacks;
  callbacks.apply = [apply = keep(apply)](const ElasticUpdate& update) {
    const py::gil_scoped_acquire lock;
    (*apply)(to_dict(update));
  };
  callbacks.save = [save = keep(save)] {
    const py::gil_scoped_acquire lock;
    const auto state = py::cast<std::string>((*save)());
    const auto bytes = std::as_bytes(std::span(state));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  callbacks.load = [load = keep(load)](std::span<const std::byte> bytes) {
    const py::gil_scoped_acquire lock;
    (*load)(py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  return callbacks;
}

bool has_hosts(const std::string& text) {
  const HostChoice choice = HostChoice::of_text(text);
  if (choice.count == 0) return choice.is_automatic;
  throw Error("members come and go, so that their hosts have no fixed number: hosts='" + text +
              "' should be 'auto' or 'off'");
}

ElasticOptions options_of(const py::kwargs& given) {
  const auto get = [&](const char* name, auto otherwise) {
    return given.contains(name) ? given[name].cast<decltype(otherwise)>() : otherwise;
  };
  const auto milliseconds = [&](const char* name, double otherwise) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * get(name, otherwise)));
  };
  ElasticOptions options;
  options.listen = get("listen", std::string("127.0.0.1:0"));
  options.address = get("address", std::string());
  options.join = get("join", std::vector<std::string>());
  options.security = security_of(given);
  options.run_key = get("run_key", std::uint64_t{0});
  options.global_batch = get("global_batch", std::size_t{1});
  options.members_least = get("members_least", std::size_t{1});
  options.silence = milliseconds("silence", 10);
  options.wait = milliseconds("wait", 600);
  options.donate_bytes_per_second = get("donate_bytes_per_second", 10e6);
  options.topology = topology_of(get("topology", std::string("auto")));
  options.hosts = has_hosts(get("hosts", std::string("auto")));
  options.seed = get("seed", std::uint64_t{0});
  options.codec_threads = get("codec_threads", std::size_t{0});
  options.buffers = tensors_of(get("buffers", NamedShapes()));
  if (given.contains("events")) {
    const auto events = given["events"].cast<std::shared_ptr<Events>>();
    options.on_event = [events](const ElasticEvent& event) { events->add(event.text); };
  }
  return options;
}

// Goes without Python's lock: the end may take a moment.
struct EndWithoutLock {
  void operator()(ElasticGroup* group) const {
    const py::gil_scoped_release released;
    delete group;
  }
};
using Group = std::unique_ptr<ElasticGroup, EndWithoutLock>;

Group make(const NamedShapes& tensors, const std::string& spec, const py::function& apply,
           const py::function& save, const py::function& load, const py::kwargs& given) {
  const ElasticOptions options = options_of(given);
  const ElasticCallbacks callbacks = callbacks_of(apply, save, load);
  const py::gil_scoped_release released;
  return Group(new ElasticGroup(tensors_of(tensors), spec, options, callbacks));
}

py::object report_of(const std::optional<ElasticReport>& report) {
  if (!report) return py::none();
  py::dict dict;
  dict["step"] = report->step;
  dict["attempts"] = report->attempts;
  dict["members"] = report->members;
  dict["bytes_sent"] = report->method.traffic.bytes_sent;
  dict["poisoned"] = report->method.poisoned > 0;
  return dict;
}

py::object next(ElasticGroup& group) {
  std::optional<ElasticTurn> turn;
  {
    const py::gil_scoped_release released;
    turn = group.next();
  }
  if (!turn) return py::none();
  py::dict dict;
  dict["step"] = turn->step;
  dict["share"] = turn->share;
  dict["shares"] = turn->shares;
  dict["view"] = turn->view;
  dict["rank"] = turn->rank;
  dict["members"] = turn->members;
  return dict;
}

py::object step(ElasticGroup& group, const std::vector<Floats>& gradients, std::size_t samples,
                std::size_t batch, double learning_rate, bool is_last) {
  const auto spans = spans_of(gradients);
  std::optional<ElasticReport> report;
  {
    const py::gil_scoped_release released;
    report = group.step(
        spans,
        {.samples = samples, .batch = batch, .learning_rate = learning_rate, .is_last = is_last});
  }
  return report_of(report);
}

py::object average(ElasticGroup& group, const std::vector<Floats>& buffers) {
  const auto spans = spans_of(buffers);
  std::optional<ElasticReport> report;
  {
    const py::gil_scoped_release released;
    report = group.average(spans);
  }
  return report_of(report);
}

}  // namespace

void bind_elastic(py::module_& module) {
  py::class_<Events, std::shared_ptr<Events>>(module, "ElasticEvents")
      .def(py::init<>())
      .def("take", &Events::take, py::call_guard<py::gil_scoped_release>())
      .def("close", &Events::close, py::call_guard<py::gil_scoped_release>());
  py::class_<ElasticGroup, Group>(module, "ElasticGroup")
      .def(py::init(&make))
      .def("next", &next)
      .def("step", &step)
      .def("average", &average)
      .def("leave", &ElasticGroup::leave)
      .def("abandon", &ElasticGroup::abandon)
      .def_property_readonly("address", &ElasticGroup::address)
      .def_property_readonly("committed", &ElasticGroup::committed)
      .def_property_readonly("end", [](const ElasticGroup& group) -> py::object {
        if (!group.end()) return py::none();
        return py::make_tuple(membership::name(group.end()->reason), group.end()->text,
                              group.end()->settled);
      });
}

}  // namespace gradwire::python
