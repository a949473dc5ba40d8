// The trainer's side of an elastic run: methods for the present view, steps, states and replays.
#include "gradwire/elastic/elastic_group.h"

#include <algorithm>
#include <utility>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/core/check.h"
#include "gradwire/core/fields.h"
#include "gradwire/elastic/host_step.h"
#include "gradwire/elastic/member_loop.h"
#include "gradwire/method/parsed_method.h"
#include "gradwire/method/repeatable_method.h"

namespace gradwire {

using namespace elastic;
using membership::MemberId;
using membership::View;

namespace {

ParsedMethod parse_repeatable(std::string_view spec) {
  ParsedMethod parsed = parse_method(spec);
  if (parsed.make_repeatable) return parsed;
  std::string others;
  for (const MethodExample& example : example_methods()) {
    if (!parse_method(example.spec).make_repeatable) continue;
    others += (others.empty() ? "" : ", ") + example.spec;
  }
  throw Error(parsed.spec + " cannot be used while ranks come and go: " +
              parsed.why_not_repeatable + "; these can: " + others);
}

void put_view(FieldWriter& out, const View& view) {
  out.put(view.number);
  out.put_count(view.members.size());
  for (const membership::Member& member : view.members) {
    out.put(member.id.high);
    out.put(member.id.low);
    out.put_text(member.address);
  }
}

// Stands for the result of a rank that does not exchange.
const Bytes kNoFrames = {std::byte{0}};

// Those of the ranks that exchange, in their order.
std::vector<Bytes> exchanged(const std::vector<Bytes>& results) {
  std::vector<Bytes> all;
  std::ranges::copy_if(results, std::back_inserter(all),
                       [](const Bytes& result) { return result != kNoFrames; });
  return all;
}

// Whether a rank's result fits into a packet with any codec: listeners get it whole.
bool fits_a_packet(const std::vector<MethodTensor>& tensors) {
  std::size_t bytes = 0;
  for (const MethodTensor& tensor : tensors) bytes += tensor.elements() * sizeof(float);
  return bytes <= kPacketBytesMax / 8 * 7;
}

View take_view(FieldReader& in) {
  View view;
  view.number = in.take<std::uint64_t>();
  in.take_list([&] {
    membership::Member& member = view.members.emplace_back();
    member.id.high = in.take<std::uint64_t>();
    member.id.low = in.take<std::uint64_t>();
    member.address = in.take_text();
  });
  return view;
}

}  // namespace

class ElasticGroup::Impl final : public CommitGate {
 public:
  Impl(std::vector<MethodTensor> tensors, std::string_view spec, const ElasticOptions& options,
       const ElasticCallbacks& callbacks)
      : tensors_(std::move(tensors)),
        parsed_(parse_repeatable(spec)),
        buffers_parsed_(parse_repeatable(make_plain_codec()->spec())),
        options_(options),
        callbacks_(callbacks),
        has_levels_(options.hosts && fits_a_packet(tensors_) && fits_a_packet(options.buffers)),
        loop_(options) {
    last_world_ = {1, {loop_.self()}};
    last_workers_ = {loop_.self().id};
    if (!options_.join.empty()) join();
  }

  ~Impl() override { release(); }

  std::optional<ElasticTurn> next() {
    const std::optional<BeginWork> begin = await_begin();
    if (!begin) return std::nullopt;
    return ElasticTurn{.step = begin->step,
                       .share = last_world_.rank_of(loop_.self().id),
                       .shares = last_world_.members.size(),
                       .view = begin->view.number,
                       .rank = begin->rank,
                       .members = begin->view.members.size()};
  }

  // `weight(view)` is of this process's values, in that view.
  template <class Weight>
  std::optional<ElasticReport> exchange(std::span<const std::span<float>> values, bool is_average,
                                        double learning_rate, const Weight& weight) {
    check_spans(values, is_average ? options_.buffers : tensors_);
    hold(values);
    ElasticReport report{.attempts = 0};
    for (;;) {
      const std::optional<BeginWork> begin = await_begin();
      if (!begin) return std::nullopt;
      ++report.attempts;
      try {
        build(*begin);
        report.members = begin->view.members.size();
        report.method = run_step(*begin, values, is_average,
                                 {.step = begin->step - 1,
                                  .learning_rate = learning_rate,
                                  .weight = weight(begin->view)});
      } catch (const StepAborted&) {
        give_up(values);
        continue;
      } catch (const PeerError& error) {
        give_up(values);
        if (error.rank() == begin->rank) throw;
        loop_.on_wrong_rank(begin->view.number, error.rank());
        continue;
      }
      last_workers_ = workers_of(begin->view);
      apply(begin->step, begin->view, values, is_average, report.method.poisoned > 0, false);
      loop_.on_committed(begin->step, is_average, model_hash());
      if (loop_.is_save_due(committed_)) loop_.on_saved(committed_, save());
      report.step = committed_;
      return report;
    }
  }

  // Gradients: a sample has the weight 1 / batch, whoever is lost. Movements of local(...): the
  // weights of the shares that are present add up to 1, since the model moves by their mean.
  float weight_of(const ElasticStep& step, const View& view) const {
    const auto members = static_cast<double>(view.members.size());
    double batch = static_cast<double>(step.batch > 0 ? step.batch : options_.global_batch);
    if (parsed_.traits.output == MethodTraits::Output::model) {
      const auto present = std::ranges::count_if(
          last_world_.members,
          [&](const membership::Member& member) { return view.rank_of(member.id).has_value(); });
      batch *= static_cast<double>(present) / static_cast<double>(last_world_.members.size());
    }
    return step.samples == 0
               ? 0.0F
               : static_cast<float>(members * static_cast<double>(step.samples) / batch);
  }

  MemberLoop& loop() { return loop_; }
  std::uint64_t committed() const { return committed_; }

  // --- CommitGate ---

  void on_result(std::size_t rank, std::span<const std::span<const std::byte>> frames) override {
    Bytes bytes;
    for (const auto& frame : frames) bytes.insert(bytes.end(), frame.begin(), frame.end());
    const bool has_hosts = hosts_ != nullptr;
    loop_.on_result(gate_view_, gate_step_, has_hosts ? hosts_->exchanging_ranks()[rank] : rank,
                    std::move(bytes), has_hosts ? hosts_->listeners() : std::vector<std::size_t>());
  }
  void await_commit() override { loop_.await_commit(gate_view_, gate_step_); }

 private:
  std::optional<BeginWork> await_begin() {
    for (;;) {
      Work work = loop_.await(MemberLoop::Seeks::step, committed_);
      if (auto* begin = std::get_if<BeginWork>(&work)) return std::move(*begin);
      if (!std::holds_alternative<SaveWork>(work)) return std::nullopt;
      loop_.on_saved(committed_, save());
    }
  }

  // --- Methods ---

  // All that is carried from one group to the next is in state_, until a method has taken it over.
  void release() {
    if (method_) {
      state_ = method_->save();
      state_workers_ = method_workers_;
    }
    method_.reset();
    buffers_method_.reset();
    echo_.reset();
    hosts_.reset();
    communicator_.reset();
  }

  // For the exchanges of a view.
  void build(const BeginWork& begin) {
    const View& view = begin.view;
    if (method_ && method_view_ == view.number) return;
    release();
    communicator_ = connect(view.number, begin.mail->make_transport());
    if (std::vector<std::size_t> host_of =
            has_levels_ ? hosts_of(view) : std::vector<std::size_t>();
        !host_of.empty()) {
      hosts_ = HostStep::make(*communicator_, std::move(host_of), tensors_, options_.buffers);
    }
    const std::vector<MemberId> workers = workers_of(view);
    Communicator* exchanging = communicator_.get();
    if (hosts_ && hosts_->listens()) {
      echo_ = connect(view.number, ViewMail::make_echo(workers.size())->make_transport());
      loop_.listen(view.number);
      exchanging = echo_.get();
    } else if (hosts_) {
      exchanging = &hosts_->exchanging();
    }
    make_methods(*exchanging, begin.departures != departures_ || has_lost_shifts(workers));
    method_view_ = view.number;
    departures_ = begin.departures;
  }

  // To replay steps of a view.
  void build_echo(std::uint64_t view, std::size_t workers) {
    if (method_ && method_view_ == view && echo_ && echo_->size() == workers) return;
    release();
    echo_ = connect(view, ViewMail::make_echo(workers)->make_transport());
    make_methods(*echo_, true);  // this process has no shifts of its own yet
    method_view_ = view;
    departures_ = 0;
  }

  std::unique_ptr<Communicator> connect(std::uint64_t view,
                                        std::unique_ptr<Transport> transport) const {
    return std::make_unique<Communicator>(
        std::move(transport), CommunicatorOptions{.run = view,
                                                  // Members watch each other; see MemberLoop.
                                                  .peer_timeout = std::chrono::hours(1'000'000),
                                                  .codec_threads = options_.codec_threads});
  }

  // A worker is gone, or this process was none: a newcomer, or a listener.
  bool has_lost_shifts(const std::vector<MemberId>& workers) const {
    const auto has = [](const std::vector<MemberId>& ids, const MemberId& id) {
      return std::ranges::find(ids, id) != ids.end();
    };
    return !has(last_workers_, loop_.self().id) ||
           !std::ranges::all_of(last_workers_, [&](const auto& id) { return has(workers, id); });
  }

  void make_methods(Communicator& communicator, bool has_lost_shifts) {
    const MethodOptions options{.topology = options_.topology,
                                .seed = options_.seed,
                                .segment_elements_max = options_.segment_elements_max};
    auto method = parsed_.make_repeatable(communicator, tensors_, options, *this);
    if (!options_.buffers.empty()) {
      buffers_method_ =
          buffers_parsed_.make_repeatable(communicator, options_.buffers, options, *this);
    }
    if (state_) {
      method->take_over(*state_,
                        {.workers_before = state_workers_, .has_lost_shifts = has_lost_shifts});
    }
    method_ = std::move(method);
    method_workers_ = communicator.size();
    state_.reset();
  }

  // --- A step ---

  bool exchanges(std::size_t rank) const {
    return !hosts_ ||
           std::ranges::find(hosts_->exchanging_ranks(), rank) != hosts_->exchanging_ranks().end();
  }
  std::vector<MemberId> workers_of(const View& view) const {
    std::vector<MemberId> ids;
    for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
      if (exchanges(rank)) ids.push_back(view.members[rank].id);
    }
    return ids;
  }

  MethodReport run_step(const BeginWork& begin, std::span<const std::span<float>> values,
                        bool is_average, StepContext context) {
    RepeatableMethod& method = is_average ? *buffers_method_ : *method_;
    loop_.set_result_lane(traits_of(method.topology()).has_owners ? Lane::down : Lane::up);
    gate_view_ = begin.view.number;
    gate_step_ = begin.step;
    begin.mail->begin_step();
    if (!hosts_) return method.run(context, values);
    for (std::size_t rank = 0; rank < begin.view.members.size(); ++rank) {
      if (!exchanges(rank)) loop_.on_result(gate_view_, gate_step_, rank, kNoFrames);
    }
    hosts_->add_up(is_average, context.step, context.weight, values);
    if (hosts_->listens()) {
      return replay_results(method, context.step, loop_.await_results(gate_view_, gate_step_),
                            values);
    }
    context.weight = hosts_->weight();
    return method.run(context, values);
  }

  // A rate of 0 leaves this worker's own memories alone.
  static MethodReport replay_results(RepeatableMethod& method, std::uint64_t step,
                                     const std::vector<Bytes>& results,
                                     std::span<const std::span<float>> outputs) {
    return method.replay({.step = step, .learning_rate = 0}, exchanged(results), outputs);
  }

  // What was submitted survives until the commit. Costs a copy of the gradients in each step.
  void hold(std::span<const std::span<float>> values) {
    held_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      held_[i].assign(values[i].begin(), values[i].end());
    }
  }
  void give_up(std::span<const std::span<float>> values) {
    release();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::ranges::copy(held_[i], values[i].begin());
    }
  }

  static void check_spans(std::span<const std::span<float>> values,
                          const std::vector<MethodTensor>& tensors) {
    bool fits = values.size() == tensors.size();
    for (std::size_t i = 0; fits && i < values.size(); ++i) {
      fits = values[i].size() == tensors[i].elements();
    }
    if (!fits) throw Error("an elastic step got other sizes than those of its tensors");
  }

  // --- Updates ---

  void apply(std::uint64_t step, const View& world, std::span<const std::span<float>> outputs,
             bool is_average, bool is_poisoned, bool is_replay) {
    ElasticUpdate update{.step = step,
                         .outputs = outputs,
                         .is_poisoned = is_poisoned,
                         .is_average = is_average,
                         .view = world.number,
                         .members = world.members.size(),
                         .shares = last_world_.members.size(),
                         .is_replay = is_replay};
    for (std::size_t share = 0; share < last_world_.members.size() && !is_average; ++share) {
      if (!world.rank_of(last_world_.members[share].id)) update.lost_shares.push_back(share);
    }
    callbacks_.apply(update);
    committed_ = step;
    last_world_ = world;
  }

  std::uint64_t model_hash() const {
    return committed_ == 0 || !callbacks_.hash ? 0 : callbacks_.hash(committed_);
  }

  // --- States of other members ---

  // What must be the same for all members.
  std::string facts() const {
    std::string text = parsed_.spec + "; seed " + std::to_string(options_.seed) + "; topology " +
                       name(options_.topology) + "; hosts " + (options_.hosts ? "auto" : "off") +
                       "; segments of " + std::to_string(options_.segment_elements_max) +
                       "; global batch " + std::to_string(options_.global_batch) + "; tensors";
    for (const auto* list : {&tensors_, &options_.buffers}) {
      for (const MethodTensor& tensor : *list) {
        text += ' ' + tensor.name + '[' + std::to_string(tensor.elements()) + ']';
      }
      text += ';';
    }
    return text;
  }

  // Only what is the same on all members.
  Bytes save() const {
    MethodState replicated;
    if (method_ || state_) {
      MethodState all = method_ ? method_->save() : *state_;
      replicated.spec = all.spec;
      replicated.tensors = all.tensors;
      for (StateArray& array : all.arrays) {
        if (array.sharing == Sharing::replicated) replicated.arrays.push_back(std::move(array));
      }
    }
    const Bytes method = to_bytes(replicated);
    const Bytes user = callbacks_.save();
    FieldWriter out;
    out.put_text(facts());
    out.put(committed_);
    put_view(out, last_world_);
    out.put_count(method.size());
    out.put_bytes(method);
    out.put_bytes(user);
    return out.take();
  }

  void load(const Bytes& bytes) {
    FieldReader in(bytes, 0);
    const std::string theirs = in.take_text();
    const auto step = in.take<std::uint64_t>();
    View world = take_view(in);
    const auto method = parse_state(in.take_bytes(in.take<std::uint64_t>()));
    if (!in.failed() && theirs != facts()) {
      throw StartError("this process does not fit to the run. Here: " + facts() +
                       " In the run: " + theirs);
    }
    if (in.failed() || !method || world.members.empty()) {
      throw StartError("the run's state is not understood: is it another version of gradwire?");
    }
    callbacks_.load(std::span<const std::byte>(bytes).subspan(in.at()));
    committed_ = step;
    release();
    state_ = *method;
    state_workers_ = world.members.size();
    last_workers_.clear();
    last_world_ = std::move(world);
  }

  void replay(const Update& update) {
    const std::size_t workers = exchanged(update.results).size();
    if (workers == 0) throw StartError("a step of the run came without results: start again");
    build_echo(update.world.number, workers);
    const std::vector<MethodTensor>& tensors = update.is_average ? options_.buffers : tensors_;
    outputs_.resize(tensors.size());
    std::vector<std::span<float>> outputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      outputs_[i].resize(tensors[i].elements());
      outputs.push_back(outputs_[i]);
    }
    RepeatableMethod& method = update.is_average ? *buffers_method_ : *method_;
    const MethodReport report = replay_results(method, update.step - 1, update.results, outputs);
    last_workers_.clear();
    for (std::size_t rank = 0; rank < update.results.size(); ++rank) {
      if (update.results[rank] == kNoFrames) continue;
      last_workers_.push_back(update.world.members[rank].id);
    }
    apply(update.step, update.world, outputs, update.is_average, report.poisoned > 0, true);
  }

  void join() {
    for (;;) {
      Work work = loop_.await(MemberLoop::Seeks::membership, committed_);
      if (const auto* state = std::get_if<LoadWork>(&work)) {
        load(state->state);
        loop_.on_loaded(committed_, model_hash());
      } else if (const auto* missed = std::get_if<ReplayWork>(&work)) {
        replay(missed->update);
        loop_.on_replayed(committed_, model_hash());
      } else if (std::holds_alternative<MemberWork>(work)) {
        return;
      } else if (std::holds_alternative<OverWork>(work)) {
        throw StartError("this process could not join the run: " + loop_.end()->text);
      }
    }
  }

  const std::vector<MethodTensor> tensors_;
  const ParsedMethod parsed_, buffers_parsed_;
  const ElasticOptions options_;
  const ElasticCallbacks callbacks_;
  const bool has_levels_;
  MemberLoop loop_;

  std::uint64_t committed_ = 0;
  View last_world_;  // who exchanged the last step: its members share the next step's batch
  std::vector<std::vector<float>> held_, outputs_;

  // The method of view method_view_, or what is kept of the last one.
  std::optional<MethodState> state_;
  std::size_t state_workers_ = 1;
  std::uint64_t departures_ = 0;
  std::uint64_t method_view_ = 0;
  std::size_t method_workers_ = 1;  // those that exchange: with two levels, one of each host
  std::uint64_t gate_view_ = 0, gate_step_ = 0;
  std::vector<MemberId> last_workers_;          // who exchanged the last step, or their host
  std::unique_ptr<Communicator> communicator_;  // of the view
  std::unique_ptr<HostStep> hosts_;             // null: one level
  std::unique_ptr<Communicator> echo_;          // of what is replayed: the methods use it
  std::unique_ptr<RepeatableMethod> method_, buffers_method_;  // go first
};

ElasticGroup::ElasticGroup(std::vector<MethodTensor> tensors, std::string_view spec,
                           const ElasticOptions& options, const ElasticCallbacks& callbacks) {
  if (!callbacks.apply || !callbacks.save || !callbacks.load) {
    throw Error("an elastic group needs the callbacks apply, save and load");
  }
  impl_ = std::make_unique<Impl>(std::move(tensors), spec, options, callbacks);
}

ElasticGroup::~ElasticGroup() = default;

std::optional<ElasticTurn> ElasticGroup::next() { return impl_->next(); }

std::optional<ElasticReport> ElasticGroup::step(std::span<const std::span<float>> gradients,
                                                const ElasticStep& step) {
  if (step.is_last) leave();
  return impl_->exchange(gradients, false, step.learning_rate,
                         [&](const View& view) { return impl_->weight_of(step, view); });
}

std::optional<ElasticReport> ElasticGroup::average(std::span<const std::span<float>> buffers) {
  return impl_->exchange(buffers, true, 0, [](const View&) { return 1.0F; });
}

void ElasticGroup::leave() noexcept { impl_->loop().leave(); }
void ElasticGroup::abandon() noexcept { impl_->loop().abandon(); }
const std::optional<ElasticEnd>& ElasticGroup::end() const { return impl_->loop().end(); }
const std::string& ElasticGroup::address() const { return impl_->loop().self().address; }
const membership::Member& ElasticGroup::self() const { return impl_->loop().self(); }
std::uint64_t ElasticGroup::committed() const { return impl_->committed(); }

std::vector<std::byte> describe_run(const ElasticOptions& options) {
  const auto until = std::chrono::steady_clock::now() + options.wait;
  const auto security = TlsContext::open(options.security);
  std::string reason = "no address was given";
  while (std::chrono::steady_clock::now() < until) {
    for (const std::string& address : options.join) {
      std::optional<Channel> channel = open_channel(address, key_of_run(options.run_key), security,
                                                    std::chrono::milliseconds(2000), reason);
      if (!channel) continue;
      Connection connection(std::move(*channel), Channel::Role::connects);
      connection.send(to_bytes(Describe{}));
      std::optional<Bytes> answer;
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      while (!answer && connection.write() && std::chrono::steady_clock::now() < patience &&
             connection.read([&](Packet packet) {
               if (auto* description = std::get_if<Description>(&packet)) {
                 answer = std::move(description->bytes);
               }
               return !answer;
             })) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      if (answer) return *answer;
    }
    if (options.join.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  throw StartError("no member of the run answers: " + reason);
}

}  // namespace gradwire
