// ElasticGroup: one process's part in a run whose processes come and go. All members hold the same
// bits after every step. A member can be killed at any time, and new ones join without a pause of
// the others. docs/elastic_python.md is for users, docs/membership.md has the protocol.
//
// A training loop:
//
//   ElasticGroup group(tensors, "ef(topk(1%) | natural)", options, callbacks);
//   while (const auto turn = group.next()) {
//     const Batch batch = share_of(turn->step, turn->share, turn->shares);
//     compute_gradients(batch, gradients);  // zeros if there is no share
//     group.step(gradients, {.samples = batch.size(),
//                            .learning_rate = 0.1,
//                            .is_last = turn->step == last_step});  // all members stop there
//   }
//
// The update is applied by ElasticCallbacks::apply, and nowhere else: a newcomer catches up by
// applying the updates of steps that it was not part of.
//
// Threads: constructor, next(), step() and average() are called by one thread, the trainer's. All
// callbacks run on that thread, inside of those calls, except on_event. leave() may be called by
// any thread. The group has threads of its own for connections, which answer others while the
// trainer computes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/collective/topology.h"
#include "gradwire/membership/action.h"
#include "gradwire/membership/view.h"
#include "gradwire/method/method.h"
#include "gradwire/transport/security.h"

namespace gradwire {

// How the group changed, for records and messages.
struct ElasticEvent {
  enum class Kind {
    view,      // a new view was adopted
    waiting,   // there is no quorum, or there are too few members
    donating,  // a newcomer fetches the model from this member
  };
  Kind kind = Kind::view;
  membership::View view = {};                         // the present one
  std::vector<membership::Departed> departed = {};    // who is not in it any more, and why
  std::vector<membership::MemberId> joined = {};      // who is new
  std::uint64_t step = 0;                             // the last one of the view before
  std::chrono::duration<double> change_seconds = {};  // how long the change took
  std::string text = {};                              // the event in words
};

struct ElasticOptions {
  // "HOST:PORT" on which others reach this process. Port 0: a free one. `address` is what others
  // are told, if that differs (behind NAT, or for a name that they resolve).
  std::string listen = "127.0.0.1:0";
  std::string address = {};

  // "HOST:PORT" of one or more members; any that lives will do. Empty: this process founds a run,
  // and its state is the model that all others get.
  std::vector<std::string> join = {};

  SecurityOptions security = {};
  std::uint64_t run_key = 0;  // as MeetingOptions::run_key: strangers do not know it

  // What a newcomer needs to know before it can make its tensors: the founder's text, passed on by
  // every member. See describe_run().
  std::vector<std::byte> description = {};

  // Samples of one step, over all members. A sample has the weight 1 / global_batch in whichever
  // step it is used.
  std::size_t global_batch = 1;

  std::size_t members_least = 1;              // with fewer, no step begins
  std::chrono::milliseconds silence{10'000};  // a member that is not heard for this long is lost
  std::chrono::milliseconds wait{600'000};    // without a quorum or enough members, until the end
  std::size_t join_lag = 8;                   // steps that a newcomer may be behind when admitted

  // What this member gives to newcomers.
  double donate_bytes_per_second = 10e6;                   // 0: as fast as possible
  std::size_t chunk_bytes = std::size_t{1} << 18;          // of the model, on the wire
  std::size_t history_bytes_max = std::size_t{256} << 20;  // of updates kept for newcomers

  Topology topology = Topology::automatic;  // scatter or gather
  // Members whose addresses have the same host add up in shared memory first, and one of them
  // exchanges the sums of hosts. To the method a host is one worker (docs/exchange.md).
  bool hosts = true;
  std::uint64_t seed = 0;
  std::size_t segment_elements_max = 0;
  std::size_t codec_threads = 0;

  // Buffers that average() averages, such as those of BatchNorm. Usually none.
  std::vector<MethodTensor> buffers = {};

  // Called on a thread of the group. Must return soon and must not call the group.
  std::function<void(const ElasticEvent&)> on_event = {};
};

// An update that all members apply, in the order of the steps.
struct ElasticUpdate {
  std::uint64_t step = 0;  // from 1 on

  // The method's output, one span for each tensor, which may be overwritten; of buffers, if
  // is_average. For local(...): what is to be subtracted from the common model. NaN everywhere if
  // the step was poisoned: then do not apply it.
  std::span<const std::span<float>> outputs = {};
  bool is_poisoned = false;
  bool is_average = false;  // average() was called, not step()

  std::uint64_t view = 0;   // in which it was exchanged
  std::size_t members = 1;  // of that view
  // The batch was dealt out in this many shares. Those of lost members do not contribute: their
  // samples are still to be learned from.
  std::size_t shares = 1;
  std::vector<std::size_t> lost_shares = {};

  bool is_replay = false;  // this process was not part of the step
};

struct ElasticCallbacks {
  // Changes the model by an update. Required. Everything that it depends on must be in save().
  std::function<void(const ElasticUpdate&)> apply;

  // All state of the caller after the last update: parameters, optimiser, sampler. The same bytes
  // on all members. Called only when a newcomer needs it.
  std::function<std::vector<std::byte>()> save;
  // Takes such bytes of another member. Throws Error for bytes that do not fit.
  std::function<void(std::span<const std::byte>)> load;

  // A hash of the model after the update, for the comparison of members. Optional; 0 for steps in
  // which it is not worth the time, the same ones on all members.
  std::function<std::uint64_t(std::uint64_t step)> hash = {};
};

// The next step of this process.
struct ElasticTurn {
  std::uint64_t step = 0;  // from 1 on
  // Which share of the step's batch this process computes: share `share` of `shares`. A newcomer
  // has none in its first step, and takes part with zeros.
  std::optional<std::size_t> share = {};
  std::size_t shares = 1;

  std::uint64_t view = 0;
  std::size_t rank = 0;
  std::size_t members = 1;
};

struct ElasticStep {
  std::size_t samples = 0;  // that the gradients are the mean over
  // Of all shares; 0: ElasticOptions::global_batch.
  std::size_t batch = 0;
  double learning_rate = 1;
  bool is_last = false;  // as leave() before the step
};

struct ElasticReport {
  std::uint64_t step = 0;
  std::size_t attempts = 1;  // more than one if members were lost meanwhile
  std::size_t members = 1;
  MethodReport method = {};
};

// Why the run is over for this process.
struct ElasticEnd {
  membership::EndReason reason = membership::EndReason::left;
  // All members have committed this step. If it is not the last one here, the others may have
  // replaced the last one, and a checkpoint has to say so.
  std::uint64_t settled = 0;
  std::string text = {};  // in words
};

class ElasticGroup {
 public:
  // Founds a run or joins one. Joining blocks until the process has a model and is a member, and
  // calls load() and apply(). Throws StartError if that fails within `wait`, SpecError for the
  // spec, and Error for methods that cannot be repeated: methods are direct, ef, ef21 and diana
  // with an exact downlink, and local(...) around one of these.
  ElasticGroup(std::vector<MethodTensor> tensors, std::string_view spec,
               const ElasticOptions& options, const ElasticCallbacks& callbacks);

  // Without leave() the others see a lost member.
  ~ElasticGroup();

  // Waits for the next step. Nothing: it is over for this process, and end() says why. Called again
  // without step() it returns the same turn, with the present view.
  std::optional<ElasticTurn> next();

  // Exchanges the gradients of the turn that next() gave, as often as it takes, and calls apply().
  // For local(...): how far the caller's parameters have moved from the common model since the last
  // turn; the batch is that of the whole round, and what lost members moved by counts as if they
  // had not been there.
  // The gradients' memory holds the output then; it is not changed before. A share without samples
  // passes zeros and samples = 0. Nothing: it is over for this process, and the step did not count
  // here. Throws what the callbacks throw, after which the group is over.
  std::optional<ElasticReport> step(std::span<const std::span<float>> gradients,
                                    const ElasticStep& step);

  // Instead of step(), by all members in the same turn: the plain mean of ElasticOptions::buffers
  // over all members. Goes through apply(), too, with is_average.
  std::optional<ElasticReport> average(std::span<const std::span<float>> buffers);

  // Leaves at the end of the step under way, in order: next() and step() return nothing then. Any
  // thread. Returns at once.
  void leave() noexcept;

  // Ends at once, whatever is under way: the others see a lost member. Any thread.
  void abandon() noexcept;

  // Once next() or step() has returned nothing.
  const std::optional<ElasticEnd>& end() const;

  const std::string& address() const;  // what others can join
  const membership::Member& self() const;
  std::uint64_t committed() const;  // the last step that was applied here

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// The description that the run's founder gave: what a newcomer asks for first. Uses listen, join,
// security, run_key and wait of the options. Throws StartError if no member answers.
std::vector<std::byte> describe_run(const ElasticOptions& options);

}  // namespace gradwire
