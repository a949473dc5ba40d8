// MemberLoop: the owner of a process's Membership, on a thread of its own. It holds all
// connections, passes events and time to the membership and performs its actions
// (docs/membership.md). The trainer's thread meets it at two places: await(), which gives the
// trainer its next piece of work, and the functions that say what the trainer or the exchange has
// done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "gradwire/elastic/donor.h"
#include "gradwire/elastic/elastic_group.h"
#include "gradwire/elastic/fetcher.h"
#include "gradwire/elastic/hub.h"
#include "gradwire/elastic/view_mail.h"
#include "gradwire/membership/membership.h"

namespace gradwire::elastic {

// --- What the trainer is asked to do ---

struct BeginWork {  // exchange this step
  std::uint64_t step = 0;
  membership::View view;
  std::size_t rank = 0;
  std::shared_ptr<ViewMail> mail;
  std::uint64_t departures = 0;  // members that have gone so far, as far as this process knows
};
struct SaveWork {};  // save the state after the last step, and call on_saved()
struct LoadWork {    // take over this state, and call on_loaded()
  Bytes state;
};
struct ReplayWork {  // apply this update, and call on_replayed()
  Update update;
};
struct MemberWork {};  // nothing: the newcomer is a member now
struct OverWork {};    // nothing: it is over, see end()
using Work = std::variant<BeginWork, SaveWork, LoadWork, ReplayWork, MemberWork, OverWork>;

class MemberLoop {
 public:
  // Listens and starts the thread. Throws StartError and UsageError.
  explicit MemberLoop(const ElasticOptions& options);
  ~MemberLoop();

  const membership::Member& self() const { return self_; }

  // --- The trainer's thread ---

  // Waits for work. `committed` is the trainer's last step.
  enum class Seeks { step, membership };
  Work await(Seeks seeks, std::uint64_t committed);

  // The state has to be saved at this step.
  bool is_save_due(std::uint64_t committed);

  void on_committed(std::uint64_t step, bool is_average, std::uint64_t hash);
  void on_saved(std::uint64_t step, Bytes state);
  void on_loaded(std::uint64_t step, std::uint64_t hash);
  void on_replayed(std::uint64_t step, std::uint64_t hash);
  // A rank of that view has sent something wrong.
  void on_wrong_rank(std::uint64_t view, std::size_t rank);
  // Which lane brings results in the exchange under way.
  void set_result_lane(Lane lane) { result_lane_ = lane; }

  void leave() noexcept;                                         // any thread
  void abandon() noexcept;                                       // any thread
  const std::optional<ElasticEnd>& end() const { return end_; }  // after OverWork

  // --- The exchange's thread ---

  // `listeners`: ranks of the view that get the frames from here, since they do not exchange.
  void on_result(std::uint64_t view, std::uint64_t step, std::size_t rank, Bytes frames,
                 const std::vector<std::size_t>& listeners = {});
  // Throws StepAborted.
  void await_commit(std::uint64_t view, std::uint64_t step);

  // --- Instead, where this rank does not exchange ---

  // From now on in this view: results come from other members.
  void listen(std::uint64_t view) { listening_view_ = view; }
  // Waits until the step is committed. The results of all ranks; throws StepAborted.
  std::vector<Bytes> await_results(std::uint64_t view, std::uint64_t step);

 private:
  // The step under way.
  struct Running {
    std::uint64_t step = 0;
    membership::View world;
    std::shared_ptr<ViewMail> mail;
    std::vector<std::optional<Bytes>> results;  // by rank
  };
  struct Fetch {
    membership::FetchFrame frame;
    Time next{};
  };
  // What the exchange's thread knows of the step under way.
  struct Verdict {
    std::uint64_t view = 0;
    std::uint64_t step = 0;  // 0: there is none
    bool is_commit = false;
    std::shared_ptr<const std::vector<Bytes>> results = {};  // for a listener, once they are here
  };

  bool listens() const { return running_ && listening_view_ == running_->world.number; }
  void take_result(std::size_t rank, Bytes frames);
  bool has_to_save(std::uint64_t committed);  // under the mutex
  void post(std::function<void()> task) noexcept;
  void run();
  bool has_said_farewell();
  void turn();
  void run_tasks();
  void take_connections();
  void read(Connection& connection);
  bool handle(Connection& connection, Packet packet);
  void introduced(Connection& connection, const membership::Member& member);
  void close(Connection& connection) { closing_.push_back(&connection); }
  void drop_closed();
  void tick();
  void tick_joining();
  void flush();
  void say_over(membership::EndReason reason, std::uint64_t settled, std::string text);

  void on_data(const membership::MemberId& from, ViewData data);
  void on_fetch(const membership::MemberId& from, const FetchResult& fetch);
  void on_result_packet(const membership::MemberId& from, const Result& result);
  void hand_state(Bytes state);
  void on_ask_model(const membership::MemberId& from, const AskModel& ask);
  void on_keep_model(const KeepModel& keep);

  void act();
  void perform(const membership::SendMessage& action);
  void perform(const membership::ConnectTo& action);
  void perform(const membership::CloseConnection& action);
  void perform(const membership::AdoptView& action);
  void perform(const membership::BeginStep& action);
  void perform(const membership::StopStep& action);
  void perform(const membership::AbortStep& action);
  void perform(const membership::CommitStep& action);
  void perform(const membership::FetchFrame& action);
  void perform(const membership::CatchUp& action);
  void perform(const membership::Wait& action);
  void perform(const membership::End& action);

  void make_mail();
  void finish_catch_up();
  std::uint64_t hash_with(std::uint64_t model_hash) const;
  std::uint64_t certain_step() const;
  std::vector<membership::MemberId> donors() const;
  void send(const membership::MemberId& to, Bytes bytes);
  void send_data(const membership::MemberId& to, Bytes bytes);
  Connection* find(const membership::MemberId& id);
  Time now() const;

  const ElasticOptions options_;
  Hub hub_;
  const membership::Member self_;
  const SendBytes send_;

  // --- The loop's own ---
  std::optional<membership::Membership> member_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<membership::MemberId, Connection*> by_id_;
  std::vector<Connection*> closing_;
  std::shared_ptr<ViewMail> mail_;  // of the present view
  std::optional<Running> running_;
  std::vector<Fetch> fetches_;
  std::vector<std::pair<membership::MemberId, ViewData>> early_;  // of later views
  // Messages of this view for members that are not connected yet.
  std::map<membership::MemberId, std::vector<Bytes>> unsent_;
  std::uint64_t departures_ = 0;
  std::uint64_t decided_step_ = 0;
  Donor donor_;
  std::vector<membership::MemberId> askers_;  // newcomers that wait for a state
  std::shared_ptr<const Update> last_update_;
  std::uint64_t chain_ = 0;  // hash of all results so far
  Fetcher fetcher_;
  bool is_loaded_ = false;     // the trainer has taken over a state
  std::deque<Update> handed_;  // updates that the trainer replays
  std::optional<std::uint64_t> replayed_;
  std::uint64_t replayed_hash_ = 0;
  std::optional<std::uint64_t> catch_up_to_;
  Time catching_up_since_{};
  Time next_tick_{};
  Time changing_since_{};
  Time few_since_{};
  bool is_few_ = false;
  bool is_over_ = false;
  Time over_since_{};

  // --- Shared, under the mutex ---
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;
  std::optional<BeginWork> begin_;
  std::optional<std::uint64_t> save_at_;  // the step whose state is wanted
  std::deque<Work> to_replay_;            // states and updates
  bool is_member_ = false;
  Verdict verdict_;
  std::optional<ElasticEnd> end_;
  bool is_stopping_ = false;

  std::atomic<Lane> result_lane_ = Lane::down;
  std::atomic<std::uint64_t> listening_view_ = 0;
  std::thread thread_;
};

}  // namespace gradwire::elastic
