#include "advise/method_speed.h"

#include <algorithm>
#include <map>
#include <memory>

#include "bench/page_array.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/core/error.h"
#include "gradwire/method/parsed_method.h"
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

  double total() const { return encode + decode; }
};

// A worker that is alone with its method.
class MethodWork {
 public:
  MethodWork(const ParsedMethod& method, Topology topology,
             const std::vector<MethodTensor>& tensors, std::span<const float> values)
      : values_(values), output_(values.size()), communicator_(world_.join(0), {.run = 1}) {
    std::size_t at = 0;
    for (const MethodTensor& tensor : tensors) {
      parameters_.push_back(values.subspan(at, tensor.elements()));
      gradients_.push_back(output_.span().subspan(at, tensor.elements()));
      at += tensor.elements();
    }
    method_ = method.make(communicator_, tensors,
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

// Measures one method, topology by topology.
class MethodMeasurement {
 public:
  MethodMeasurement(MethodSpeed& speed, const ParsedMethod& method,
                    const std::vector<MethodTensor>& tensors, std::span<const float> values,
                    const SpeedOptions& options)
      : speed_(speed), method_(method), tensors_(tensors), values_(values), options_(options) {}

  void run() {
    note_traits();
    measure_codecs();
    // Those without a downlink come first: only there the way up is alone.
    for (const bool has_downlink : {false, true}) {
      for (const Topology topology : all_topologies()) {
        if (traits_of(topology).has_downlink == has_downlink) laps_[topology] = lap_on(topology);
      }
    }
    if (std::ranges::none_of(laps_, [](const auto& lap) { return lap.second.has_value(); })) {
      throw Error(first_refusal_);
    }
    for (const Topology topology : all_topologies()) {
      if (laps_[topology]) speed_.topologies.push_back(speed_on(topology, *laps_[topology]));
    }
  }

 private:
  void note_traits() {
    speed_.needs_whole_gradient = method_.traits.needs_whole_gradient;
    speed_.has_memory = method_.traits.has_memory;
    speed_.keeps_uploads = method_.traits.reuses_uploads;
    speed_.factor_rank = method_.factor_rank;
  }

  void measure_codecs() {
    if (!method_.up) return;
    const auto measure = [&](const Codec& codec) {
      return measure_codec(codec, tensors_, values_, options_.load, options_.rounds);
    };
    const Codec& up = *method_.up;
    const Codec& down = *method_.down;
    up_ = speed_.codec = measure(up);
    down_ = method_.down == method_.up ? up_ : measure(down);
    speed_.up_error = up_->relative_error;
    speed_.down_error = down_->relative_error;
    speed_.mean_waits = down.needs_whole_tensor();
    speed_.is_unbiased = up.guarantee(values_.size()).kind == Guarantee::Kind::unbiased;
    speed_.is_summed = up.summable_from().has_value();
  }

  // Nothing where the method does not run on the topology.
  std::optional<Lap> lap_on(Topology topology) {
    if (!traits_of(topology).has_owners) return try_topology(topology);
    // A single rank owns everything, so all topologies with owners take the same time.
    if (!owner_lap_) owner_lap_ = try_topology(topology);
    return *owner_lap_;
  }

  std::optional<Lap> try_topology(Topology topology) {
    try {
      return measure_on(topology);
    } catch (const SpecError&) {
      throw;
    } catch (const Error& error) {
      if (first_refusal_.empty()) first_refusal_ = error.what();
      return std::nullopt;
    }
  }

  Lap measure_on(Topology topology) {
    // One worker alone finds what is no matter of time.
    std::size_t rounds = options_.rounds;
    std::size_t rounds_max = kRoundsFactor * rounds;
    {
      MethodWork work(method_, topology, tensors_, values_);
      work.settle();
      if (message_bytes_ == 0) {
        message_bytes_ = work.message_bytes() / static_cast<double>(values_.size());
      }
      // The way up is alone only there; elsewhere the error holds that of the way down, too.
      const bool is_alone = !traits_of(topology).has_downlink || !up_;
      if (is_alone) speed_.up_error = bench::relative_error(work.output(), values_);
      if (speed_.keeps_uploads) {
        rounds = std::min(rounds, kLazyRoundsMax);
        rounds_max = kLazyRoundsMax;
      }
    }
    const auto laps = run_at_once(options_.load.at_once(), rounds, rounds_max, [&] {
      auto work = std::make_unique<MethodWork>(method_, topology, tensors_, values_);
      work->settle();
      return [work = std::move(work)] { return work->lap(); };
    });
    speed_.noise = std::max(speed_.noise, noise_of(laps));
    const auto elements = static_cast<double>(values_.size());
    return {.encode = slowest(laps, &Lap::encode) / elements,
            .decode = slowest(laps, &Lap::decode) / elements};
  }

  // What is known before anything is sent: of the way up, what cannot wait for its segment.
  plan::CodecSeconds uplink(double encode, double decode) const {
    plan::CodecSeconds seconds;
    // A method without one codec counts as one whose codec needs the whole tensor.
    const bool waits = !method_.up || method_.up->needs_whole_tensor();
    const double late = up_ ? std::min(up_->encode, encode) : 0;
    seconds.encode = waits ? late : encode;
    seconds.prepare = encode - seconds.encode;
    seconds.decode_add = up_ ? std::min(up_->decode_add, decode) : decode;
    const double rest = decode - seconds.decode_add;
    (speed_.has_memory ? seconds.settle : seconds.decode) = rest;
    return seconds;
  }

  TopologySpeed speed_on(Topology topology, const Lap& lap) {
    if (speed_.factor_rank) {
      speed_.factor_seconds = lap.encode + lap.decode;
      return {.topology = topology};
    }
    const TopologyTraits& traits = traits_of(topology);
    if (traits.passes_sums) return speed_with_sums(topology, lap);
    if (traits.has_owners) return speed_with_owners(topology, lap);
    return {.topology = topology,
            .seconds = uplink(lap.encode, lap.decode),
            .up_bytes = message_bytes_,
            .down_bytes = 0};
  }

  // Where the way up is alone.
  const Lap* uplink_lap() const {
    for (const auto& [topology, lap] : laps_) {
      if (lap && !traits_of(topology).has_downlink) return &*lap;
    }
    return nullptr;
  }

  TopologySpeed speed_with_owners(Topology topology, const Lap& lap) const {
    const Lap* const alone = uplink_lap();
    const double up = alone ? alone->encode
                      : up_ ? std::min(up_->measure + up_->encode, lap.encode)
                            : lap.encode / 2;
    TopologySpeed speed{.topology = topology,
                        .seconds = uplink(up, lap.decode),
                        .up_bytes = message_bytes_,
                        .down_bytes = down_ && up_ && down_->payload_bytes != up_->payload_bytes
                                          ? down_->payload_bytes
                                          : message_bytes_};
    speed.seconds.encode_mean = std::max(0.0, lap.encode - up);
    if (speed_.has_memory && alone && down_) {
      // Without owners it takes less time: the rest is decoding what came down, and the owner's
      // memory of its chunk, which was all with one rank.
      const double more = std::max(0.0, lap.decode - alone->decode);
      const double decode = std::min(down_->decode, more);
      speed.seconds.settle -= more - decode;
      speed.seconds.encode_mean += more - decode;
    }
    return speed;
  }

  // The first hop copies or encodes, and those that follow add what came to that.
  TopologySpeed speed_with_sums(Topology topology, const Lap& lap) const {
    TopologySpeed speed{.topology = topology,
                        .seconds = {.encode = lap.encode,
                                    .decode_add = up_ ? up_->decode_add : 0,
                                    .decode = lap.decode},
                        .up_bytes = message_bytes_,
                        .down_bytes = message_bytes_};
    if (speed_.is_summed && up_ && up_->payload_bytes < sizeof(float)) {
      // A few elements are summed, which were all encoded beforehand.
      const double share = up_->payload_bytes / sizeof(float);
      speed.seconds.prepare = speed.seconds.encode * (1 - share);
      speed.seconds.encode *= share;
      speed.seconds.decode_add *= share;
    }
    if (speed_.has_memory) std::swap(speed.seconds.decode, speed.seconds.settle);
    return speed;
  }

  MethodSpeed& speed_;
  const ParsedMethod& method_;
  const std::vector<MethodTensor>& tensors_;
  std::span<const float> values_;
  const SpeedOptions& options_;
  std::optional<CodecSpeed> up_;
  std::optional<CodecSpeed> down_;
  std::map<Topology, std::optional<Lap>> laps_;
  std::optional<std::optional<Lap>> owner_lap_;  // of the first topology with owners
  double message_bytes_ = 0;                     // for each element
  std::string first_refusal_;
};

}  // namespace

MethodSpeed measure_method(const std::string& method, const std::vector<MethodTensor>& tensors,
                           std::span<const float> values, const SpeedOptions& options) {
  MethodSpeed speed;
  const ParsedMethod parsed = parse_method(method);
  speed.method = method;
  speed.spec = parsed.spec;
  speed.every = parsed.traits.every;
  const bool is_inside = !parsed.exchanged_by.empty();
  const ParsedMethod exchange = is_inside ? parse_method(parsed.exchanged_by) : parsed;
  MethodMeasurement(speed, exchange, tensors, values, options).run();
  speed.owns_moments = parsed.traits.owns_moments;
  return speed;
}

}  // namespace gradwire::advise
