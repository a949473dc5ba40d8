#include "advise/method_speed.h"

#include <algorithm>
#include <memory>

#include "bench/page_array.h"
#include "gradwire/codec/spec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/core/error.h"
#include "gradwire/transport/in_process.h"

namespace gradwire::advise {
namespace {

// What is over by then: a warm-up.
constexpr std::uint64_t kLateStep = 1'000'000'000;
// Lazy methods send in each of their first steps, and what is sent is measured.
constexpr std::size_t kLazyRoundsMax = 8;

struct Lap {
  double encode = 0;
  double decode = 0;
};

// A worker that is alone with its method.
class MethodWork {
 public:
  MethodWork(const std::string& spec, Topology topology, const std::vector<MethodTensor>& tensors,
             std::span<const float> values)
      : values_(values), output_(values.size()), communicator_(world_.join(0), {.run = 1}) {
    std::size_t at = 0;
    for (const MethodTensor& tensor : tensors) {
      parameters_.push_back(values.subspan(at, tensor.elements()));
      gradients_.push_back(output_.span().subspan(at, tensor.elements()));
      at += tensor.elements();
    }
    method_ = make_method(communicator_, tensors, spec,
                          {.topology = topology, .group_elements = values.size() + 1});
  }
  ~MethodWork() {
    method_.reset();
    communicator_.close();
  }

  Lap lap() {
    std::ranges::copy(values_, output_.span().begin());
    report_ = method_->run(
        {.step = kLateStep + laps_++,
         .parameters = parameters_,
         .gradient_at =
             [this](std::span<const std::span<const float>>, const TakeGradient& take) {
               for (std::size_t i = 0; i < parameters_.size(); ++i) take(i, parameters_[i]);
             }},
        gradients_);
    if (report_.poisoned > 0) {
      throw Error(method_->spec() + ": there is a NaN or an infinity among the values: no mean");
    }
    return {.encode = report_.phases.encode_seconds, .decode = report_.phases.decode_seconds};
  }

  // Until a method that plans has its first plan: what it sends before that is not what it is for.
  void settle() {
    constexpr int kLapsMax = 64;
    const MethodTraits::Settles settles = method_->traits().settles;
    if (settles == MethodTraits::Settles::by_training) {
      throw Error(method_->spec() +
                  " sends what it learns from gradients, which advice cannot foresee: see what a "
                  "run of `gradwire train` sends");
    }
    const bool waits = settles == MethodTraits::Settles::with_first_note;
    for (int i = 0; waits && !report_.note && i < kLapsMax; ++i) lap();
    lap();
  }

  const Method& method() const { return *method_; }
  std::span<const float> output() const { return output_.span(); }
  double message_bytes() const { return static_cast<double>(report_.traffic.message_bytes); }
  std::size_t exchanges() const { return report_.exchanges; }

 private:
  std::span<const float> values_;
  bench::PageArray<float> output_;
  InProcessWorld world_{1};
  Communicator communicator_;
  std::vector<std::span<const float>> parameters_;
  std::vector<std::span<float>> gradients_;
  std::unique_ptr<Method> method_;
  MethodReport report_;
  std::uint64_t laps_ = 0;
};

std::optional<std::size_t> factor_rank_of(const std::string& spec) {
  const Spec parsed = parse_spec(spec);
  if (parsed.stages.front().name != "powersgd") return std::nullopt;
  for (const SpecArgument& argument : parsed.stages.front().arguments) {
    if (argument.key == "rank" && argument.number) {
      return static_cast<std::size_t>(*argument.number);
    }
  }
  return std::nullopt;
}

// Measures one method, way by way.
class MethodMeasurement {
 public:
  MethodMeasurement(MethodSpeed& speed, const std::vector<MethodTensor>& tensors,
                    std::span<const float> values, const SpeedOptions& options)
      : speed_(speed), tensors_(tensors), values_(values), options_(options) {}

  void run() {
    measure_codecs();
    gather_ = try_way(Topology::gather);
    scatter_ = try_way(Topology::scatter);
    ring_ = try_way(Topology::ring);
    if (!gather_ && !scatter_ && !ring_) throw Error(first_refusal_);
    if (!down_ && up_) down_ = up_;
    if (scatter_) add_owner_ways();
    if (gather_) add_gather();
    if (ring_) add_ring();
  }

 private:
  void measure_codecs() {
    const CodecsOfMethod codecs = codecs_of(speed_.spec);
    const auto measure = [&](const Codec& codec) {
      return measure_codec(codec, tensors_, values_, options_.load, options_.rounds);
    };
    speed_.factor_rank = factor_rank_of(speed_.spec);
    if (!codecs.up) return;
    up_codec_ = codecs.up;
    up_ = speed_.codec = measure(*codecs.up);
    speed_.up_error = up_->relative_error;
    if (codecs.down) down_ = measure(*codecs.down);
    const Codec& down = codecs.down ? *codecs.down : *codecs.up;
    speed_.mean_waits = down.needs_whole_tensor();
    speed_.down_error = (codecs.down ? *down_ : *up_).relative_error;
    speed_.is_unbiased = codecs.up->guarantee(values_.size()).kind == Guarantee::Kind::unbiased;
    speed_.is_summed = codecs.up->summable_from().has_value();
  }

  // Nothing where the method does not go that way.
  std::optional<Lap> try_way(Topology topology) {
    try {
      return measure_way(topology);
    } catch (const SpecError&) {
      throw;
    } catch (const Error& error) {
      if (first_refusal_.empty()) first_refusal_ = error.what();
      return std::nullopt;
    }
  }

  Lap measure_way(Topology topology) {
    // One worker alone finds what is no matter of time.
    std::size_t rounds = options_.rounds;
    {
      MethodWork work(speed_.spec, topology, tensors_, values_);
      work.settle();
      const MethodTraits traits = work.method().traits();
      speed_.needs_whole_gradient = traits.needs_whole_gradient;
      speed_.has_memory = work.method().memory_bytes() > 0;
      speed_.keeps_uploads = traits.needs_parameters;
      if (message_bytes_ == 0) {
        message_bytes_ = work.message_bytes() / static_cast<double>(values_.size());
      }
      // The way up is alone only there; elsewhere the error holds that of the way down, too.
      const bool is_alone = topology == Topology::gather || !up_;
      if (is_alone) speed_.up_error = bench::relative_error(work.output(), values_);
      if (traits.needs_parameters) rounds = std::min(rounds, kLazyRoundsMax);
    }
    const auto laps = run_at_once(options_.load.at_once(), rounds, [&] {
      auto work = std::make_unique<MethodWork>(speed_.spec, topology, tensors_, values_);
      work->settle();
      return [work = std::move(work)] { return work->lap(); };
    });
    const auto elements = static_cast<double>(values_.size());
    return {.encode = slowest(laps, &Lap::encode) / elements,
            .decode = slowest(laps, &Lap::decode) / elements};
  }

  // What is known before anything is sent: of the way up, what cannot wait for its segment.
  plan::CodecSeconds uplink(double encode, double decode) const {
    plan::CodecSeconds seconds;
    // A codec that nobody can name is taken for one that sees the whole tensor.
    const bool waits = !up_codec_ || up_codec_->needs_whole_tensor();
    const double late = up_ ? std::min(up_->encode, encode) : 0;
    seconds.encode = waits ? late : encode;
    seconds.prepare = encode - seconds.encode;
    seconds.decode_add = up_ ? std::min(up_->decode_add, decode) : decode;
    const double rest = decode - seconds.decode_add;
    (speed_.has_memory ? seconds.settle : seconds.decode) = rest;
    return seconds;
  }

  void add_owner_ways() {
    if (speed_.factor_rank) return add_factors(*scatter_, {Topology::scatter, Topology::server});
    const double up = gather_ ? gather_->encode
                      : up_   ? std::min(up_->measure + up_->encode, scatter_->encode)
                              : scatter_->encode / 2;
    WaySpeed way{.topology = Topology::scatter,
                 .seconds = uplink(up, scatter_->decode),
                 .up_bytes = message_bytes_,
                 .down_bytes = down_ && up_ && down_->payload_bytes != up_->payload_bytes
                                   ? down_->payload_bytes
                                   : message_bytes_};
    way.seconds.encode_mean = std::max(0.0, scatter_->encode - up);
    if (speed_.has_memory && gather_ && down_) {
      // What takes more time than it does in a gather is decoding what came down, and the owner's
      // memory: of its chunk, which was all with one rank.
      const double more = std::max(0.0, scatter_->decode - gather_->decode);
      const double decode = std::min(down_->decode, more);
      way.seconds.settle -= more - decode;
      way.seconds.encode_mean += more - decode;
    }
    speed_.ways.push_back(way);
    way.topology = Topology::server;
    speed_.ways.push_back(way);
  }

  void add_gather() {
    if (speed_.factor_rank) return add_factors(*gather_, {Topology::gather});
    speed_.ways.push_back({.topology = Topology::gather,
                           .seconds = uplink(gather_->encode, gather_->decode),
                           .up_bytes = message_bytes_,
                           .down_bytes = 0});
  }

  // The first hop copies or encodes, and those that follow add what came to that.
  void add_ring() {
    if (speed_.factor_rank) return add_factors(*ring_, {Topology::ring});
    WaySpeed way{.topology = Topology::ring,
                 .seconds = {.encode = ring_->encode,
                             .decode_add = up_ ? up_->decode_add : 0,
                             .decode = ring_->decode},
                 .up_bytes = message_bytes_,
                 .down_bytes = message_bytes_};
    if (speed_.is_summed && up_ && up_->payload_bytes < sizeof(float)) {
      // A few places are summed, which were all encoded beforehand.
      const double share = up_->payload_bytes / sizeof(float);
      way.seconds.prepare = way.seconds.encode * (1 - share);
      way.seconds.encode *= share;
      way.seconds.decode_add *= share;
    }
    if (speed_.has_memory) std::swap(way.seconds.decode, way.seconds.settle);
    speed_.ways.push_back(way);
  }

  void add_factors(const Lap& lap, std::initializer_list<Topology> topologies) {
    speed_.factor_seconds = lap.encode + lap.decode;
    for (const Topology topology : topologies) speed_.ways.push_back({.topology = topology});
  }

  MethodSpeed& speed_;
  const std::vector<MethodTensor>& tensors_;
  std::span<const float> values_;
  const SpeedOptions& options_;
  std::shared_ptr<const Codec> up_codec_;
  std::optional<CodecSpeed> up_;
  std::optional<CodecSpeed> down_;
  std::optional<Lap> gather_;
  std::optional<Lap> scatter_;
  std::optional<Lap> ring_;
  double message_bytes_ = 0;  // for each element
  std::string first_refusal_;
};

}  // namespace

MethodSpeed measure_method(const std::string& method, const std::vector<MethodTensor>& tensors,
                           std::span<const float> values, const SpeedOptions& options) {
  MethodSpeed speed;
  speed.method = method;
  speed.spec = check_method(method);
  MethodMeasurement(speed, tensors, values, options).run();
  return speed;
}

}  // namespace gradwire::advise
