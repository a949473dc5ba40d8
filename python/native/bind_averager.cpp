// The Averager as a class of the module. Whatever may wait runs without Python's lock.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/transport/in_process.h"
#include "python/native/averager.h"
#include "python/native/bindings.h"
#include "python/native/options.h"
#include "python/native/state_bytes.h"

namespace gradwire::python {
namespace py = pybind11;
namespace {

using Released = py::call_guard<py::gil_scoped_release>;
using NamedShapes = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

// Consecutive floats that Python keeps alive: address and number.
using Floats = std::pair<std::uintptr_t, std::size_t>;

std::span<float> span_of(const Floats& floats) {
  return {reinterpret_cast<float*>(floats.first), floats.second};
}

std::vector<MethodTensor> tensors_of(const NamedShapes& shapes) {
  std::vector<MethodTensor> tensors;
  for (const auto& [name, shape] : shapes) tensors.push_back({.name = name, .shape = shape});
  return tensors;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

// What a step is made of beside gradients, kept until it is finished.
class StepInput {
 public:
  // Called with the addresses of parameters, it gives those of gradients.
  using GradientAt = std::function<std::vector<std::uintptr_t>(std::vector<std::uintptr_t>)>;

  std::vector<double> learning_rates;  // by tensor, or none
  std::vector<std::span<const float>> parameters;
  GradientAt gradient_at;

  void find_gradient(std::span<const std::span<const float>> at, const TakeGradient& take) const {
    std::vector<std::uintptr_t> addresses;
    for (const auto& values : at) {
      addresses.push_back(reinterpret_cast<std::uintptr_t>(values.data()));
    }
    std::vector<std::uintptr_t> gradients;
    {
      const py::gil_scoped_acquire lock;
      gradients = gradient_at(addresses);
    }
    if (gradients.size() != at.size()) throw Error("gradients of other parameters were given");
    for (std::size_t i = 0; i < at.size(); ++i) {
      take(i, {reinterpret_cast<const float*>(gradients[i]), at[i].size()});
    }
  }
};

class BoundAverager {
 public:
  // Rank 0 says for all ranks that its address is open to all.
  explicit BoundAverager(const Averager::Options& options)
      : averager(options),
        exposed_address(options.tcp.meeting.rank == 0 ? gradwire::exposed_address(options.tcp)
                                                      : "") {}

  void begin(std::uint64_t step, double learning_rate, std::vector<double> learning_rates,
             const std::vector<Floats>& parameters, StepInput::GradientAt gradient_at,
             std::optional<double> moved_squared, bool is_last) {
    input.learning_rates = std::move(learning_rates);
    input.parameters.clear();
    for (const Floats& floats : parameters) input.parameters.push_back(span_of(floats));
    input.gradient_at = std::move(gradient_at);
    StepContext context{.step = step,
                        .learning_rate = learning_rate,
                        .learning_rates = input.learning_rates,
                        .parameters = input.parameters,
                        .moved_squared = moved_squared,
                        .is_last = is_last};
    if (input.gradient_at) {
      context.gradient_at = [this](auto at, const TakeGradient& take) {
        input.find_gradient(at, take);
      };
    }
    const py::gil_scoped_release released;
    averager.begin(context);
  }

  Averager averager;
  const std::string exposed_address;
  StepInput input;
};

py::dict to_dict(const Totals& totals) {
  py::dict dict;
  dict["steps"] = totals.steps;
  dict["poisoned"] = totals.poisoned;
  dict["uploads_skipped"] = totals.uploads_skipped;
  dict["message_bytes"] = totals.traffic.message_bytes;
  dict["bytes_sent"] = totals.traffic.bytes_sent;
  dict["bytes_received"] = totals.traffic.bytes_received;
  dict["encode_seconds"] = totals.phases.encode_seconds;
  dict["exchange_seconds"] = totals.phases.exchange_seconds;
  dict["decode_seconds"] = totals.phases.decode_seconds;
  dict["tensor_bytes"] = totals.tensor_bytes;
  return dict;
}

// Of one tensor: beta1, beta2, epsilon and decay.
using Moments = std::tuple<double, double, double, double>;

std::vector<MomentSettings> settings_of(const std::vector<Moments>& moments) {
  std::vector<MomentSettings> settings;
  for (const auto& [beta1, beta2, epsilon, decay] : moments) {
    settings.push_back({.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .decay = decay});
  }
  return settings;
}

// The mean of many messages differs from the mean of the gradients.
bool is_biased(const Codec& codec) {
  constexpr std::size_t kElements = std::size_t{1} << 20;
  return !codec.is_plain() && codec.guarantee(kElements).kind != Guarantee::Kind::unbiased;
}

// What a method is like for these tensors, without peers. Throws what making it would.
py::dict probe(const std::string& spec, const NamedShapes& shapes, const std::string& topology) {
  const ParsedMethod parsed = parse_method(spec);
  MethodTraits traits;
  std::string canonical;
  std::size_t memory_bytes = 0;
  {
    const py::gil_scoped_release released;
    InProcessWorld world(1);
    Communicator alone(world.join(0), {});
    const auto method =
        make_method(alone, tensors_of(shapes), spec, {.topology = topology_of(topology)});
    traits = method->traits();
    canonical = method->spec();
    memory_bytes = method->memory_bytes();
  }
  py::dict dict;
  dict["spec"] = canonical;
  dict["has_memory"] = memory_bytes > 0;
  dict["owns_momentum"] = traits.owns_momentum;
  dict["owns_moments"] = traits.owns_moments;
  dict["needs_whole_gradient"] = traits.needs_whole_gradient;
  dict["needs_parameters"] = traits.needs_parameters;
  dict["gives_model"] = traits.output == MethodTraits::Output::model;
  dict["every"] = traits.every;
  dict["gain"] = traits.gain;
  dict["is_biased"] = parsed.up && is_biased(*parsed.up);
  return dict;
}

// A rank that cannot take part says so itself; this is for who looks at a rank that waits for it.
// Any thread calls it, without Python's lock.
void tell_refusal(const std::string& reason) {
  std::fprintf(stderr, "gradwire: a connection was refused, this rank continues to wait: %s\n",
               reason.c_str());
}

Averager::Options options_of(const py::kwargs& given) {
  const auto get = [&](const char* name, auto otherwise) {
    return given.contains(name) ? given[name].cast<decltype(otherwise)>() : otherwise;
  };
  Averager::Options options;
  options.spec = get("spec", std::string());
  options.parts = get("parts", std::size_t{1});
  options.tcp = {.meeting = {.rank = get("rank", std::size_t{0}),
                             .size = get("size", std::size_t{1}),
                             .master_host = get("host", std::string()),
                             .master_port = get("port", std::uint16_t{0}),
                             .run_key = get("run", std::uint64_t{0}),
                             .interface = get("interface", std::string()),
                             .start_time_max = milliseconds(get("start_seconds", 60.0)),
                             .on_refusal = tell_refusal},
                 .streams = get("streams", std::size_t{1})};
  options.tcp.security = security_of(given);
  options.communicator = {.run = get("run", std::uint64_t{0}),
                          .peer_timeout = milliseconds(get("peer_timeout_seconds", 60.0)),
                          .codec_threads = get("codec_threads", std::size_t{0})};
  options.method.topology = topology_of(get("topology", std::string("auto")));
  options.method.seed = get("seed", std::uint64_t{0});
  options.method.grace = {.share = get("grace", 0.0)};
  options.record = {.directory = get("directory", std::string()),
                    .description = get("description", std::string("{}")),
                    .overwrite = get("overwrite", false)};
  return options;
}

}  // namespace

void bind_averager(py::module_& module) {
  module.def("probe", &probe, py::arg("spec"), py::arg("tensors"), py::arg("topology"));
  // Why grace= does not go with a method and a topology; empty if it does.
  module.def("why_not_late", [](const std::string& spec, const std::string& topology) {
    return why_not_late(parse_method(spec), topology_of(topology));
  });
  // Whether workers take steps of their own with this method.
  module.def("gives_model", [](const std::string& spec) {
    return parse_method(spec).traits.output == MethodTraits::Output::model;
  });
  py::class_<BoundAverager>(module, "Averager")
      .def(py::init([](const py::kwargs& given) {
        const Averager::Options options = options_of(given);
        const py::gil_scoped_release released;
        return std::make_unique<BoundAverager>(options);
      }))
      .def(
          "agree",
          [](BoundAverager& self, const std::vector<std::uint64_t>& proposal) {
            return self.averager.agree(proposal);
          },
          Released())
      .def(
          "sum",
          [](BoundAverager& self, const std::vector<std::uint64_t>& own) {
            return self.averager.sum(own);
          },
          Released())
      .def(
          "make",
          [](BoundAverager& self, const NamedShapes& shapes, const std::vector<Moments>& moments) {
            self.averager.make(tensors_of(shapes), settings_of(moments));
          },
          py::arg("tensors"), py::arg("moments") = std::vector<Moments>(), Released())
      .def("begin", &BoundAverager::begin, py::arg("step"), py::arg("learning_rate"),
           py::arg("learning_rates") = std::vector<double>(),
           py::arg("parameters") = std::vector<Floats>(), py::arg("gradient_at") = py::none(),
           py::arg("moved_squared") = py::none(), py::arg("is_last") = false)
      .def("takes_parameters",
           [](BoundAverager& self, std::uint64_t step) {
             return self.averager.method().input(step) == Method::Input::parameters;
           })
      .def("model",  // nothing while the parameters are the same on all ranks
           [](BoundAverager& self, std::size_t tensor) -> std::optional<Floats> {
             const auto values = self.averager.method().model(tensor);
             if (values.empty()) return std::nullopt;
             return Floats(reinterpret_cast<std::uintptr_t>(values.data()), values.size());
           })
      .def(
          "submit",  // consecutive tensors
          [](BoundAverager& self, std::size_t first, const std::vector<Floats>& gradients) {
            for (std::size_t i = 0; i < gradients.size(); ++i) {
              self.averager.submit(first + i, span_of(gradients[i]));
            }
          },
          Released())
      .def(
          "finish",
          [](BoundAverager& self, double compute_seconds) {
            return self.averager.finish(compute_seconds);
          },
          Released())
      .def(
          "log",
          [](BoundAverager& self, std::optional<double> loss, std::uint64_t samples,
             std::optional<double> test_loss, std::optional<double> accuracy) {
            self.averager.log(
                {.loss = loss, .samples = samples, .test_loss = test_loss, .accuracy = accuracy});
          },
          py::arg("loss"), py::arg("samples"), py::arg("test_loss"), py::arg("accuracy"))
      .def("save", [](BoundAverager& self) { return state_bytes(self.averager.method().save()); })
      .def("load", [](BoundAverager& self,
                      const py::bytes& bytes) { self.averager.method().load(state_of(bytes)); })
      .def("rescale",
           [](BoundAverager& self, float factor) { self.averager.method().rescale(factor); })
      .def("memory_bytes",
           [](BoundAverager& self) { return self.averager.method().memory_bytes(); })
      .def("exposed_address", [](const BoundAverager& self) { return self.exposed_address; })
      .def("refused_connections",
           [](const BoundAverager& self) { return self.averager.refused_connections(); })
      .def("topology", [](BoundAverager& self) { return name(self.averager.method().topology()); })
      .def("totals", [](const BoundAverager& self) { return to_dict(self.averager.totals()); })
      .def("take_remarks", [](BoundAverager& self) { return self.averager.take_remarks(); })
      .def(
          "close", [](BoundAverager& self) { self.averager.close(); }, Released())
      .def(
          "abandon", [](BoundAverager& self) { self.averager.abandon(); }, Released());
}

}  // namespace gradwire::python
