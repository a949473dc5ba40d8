// The loop's thread: connections, time, and the meetings with the trainer.
#include "gradwire/elastic/member_loop.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "gradwire/core/check.h"
#include "gradwire/core/fields.h"
#include "gradwire/core/usage_error.h"
#include "gradwire/transport/tls_context.h"
#include "gradwire/wire/frame.h"

namespace gradwire::elastic {

using namespace membership;

namespace {

constexpr std::chrono::milliseconds kTick{10};
constexpr Time kFarewell{2'000};  // for the last packets to arrive

MemberId random_id() {
  MemberId id;
  if (getrandom(&id, sizeof(id), 0) != static_cast<ssize_t>(sizeof(id))) {
    throw StartError("the system has no random numbers for a member's id");
  }
  return id;
}

Options membership_options(const ElasticOptions& options) {
  const Time silence = options.silence;
  return {.silence = silence,
          .alive_every = std::min(silence / 8, Time(1'000)),
          .retry = std::min(silence / 8, Time(500)),
          .reconnect_grace = std::min(silence / 8, Time(300)),
          .wait = options.wait,
          .members_least = options.members_least,
          .join_lag = options.join_lag};
}

std::string with_port(const std::string& host, std::uint16_t port) {
  const bool has_colons = host.find(':') != std::string::npos;
  return (has_colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

const ElasticOptions& checked(const ElasticOptions& options) {
  if (options.silence < std::chrono::milliseconds(200)) {
    throw UsageError("a silence of " + std::to_string(options.silence.count()) +
                     " ms would lose members that are only busy: take seconds");
  }
  if (options.global_batch == 0) throw UsageError("the global batch needs at least one sample");
  if (options.chunk_bytes == 0 || options.chunk_bytes > (std::size_t{1} << 28)) {
    throw UsageError("chunks of a model have 1 byte to 256 MB");
  }
  for (const std::string& address : options.join) parse_host_port(address);
  if (!options.address.empty()) parse_host_port(options.address);
  return options;
}

}  // namespace

MemberLoop::MemberLoop(const ElasticOptions& options)
    : options_(checked(options)),
      hub_(options.listen, options.run_key, TlsContext::open(options.security)),
      self_{random_id(), !options.address.empty()
                             ? options.address
                             : with_port(parse_host_port(options.listen).host, hub_.port())},
      send_([this](const MemberId& to, Bytes bytes) { send(to, std::move(bytes)); }),
      donor_({.bytes_per_second = options.donate_bytes_per_second,
              .chunk_bytes = options.chunk_bytes,
              .history_bytes_max = options.history_bytes_max}) {
  const Options times = membership_options(options_);
  if (options_.join.empty()) {
    member_.emplace(times, self_, View{1, {self_}}, hash_with(0), now());
    is_member_ = true;
    make_mail();
  } else {
    member_.emplace(times, self_, options_.join, now());
  }
  thread_ = std::thread([this] { run(); });
}

MemberLoop::~MemberLoop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  hub_.wake();
  thread_.join();
}

Time MemberLoop::now() const {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

// --- The trainer's side --------------------------------------------------------------------------

void MemberLoop::post(std::function<void()> task) noexcept {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  hub_.wake();
}

bool MemberLoop::is_save_due(std::uint64_t committed) {
  const std::lock_guard lock(mutex_);
  return has_to_save(committed);
}

bool MemberLoop::has_to_save(std::uint64_t committed) {
  if (save_at_ && *save_at_ < committed) save_at_.reset();  // too late for this one
  return save_at_ == committed;
}

Work MemberLoop::await(Seeks seeks, std::uint64_t committed) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (end_) return OverWork{};
    if (seeks == Seeks::step && has_to_save(committed)) return SaveWork{};
    if (seeks == Seeks::step && begin_) return *begin_;
    if (seeks == Seeks::membership && !to_replay_.empty()) {
      Work work = std::move(to_replay_.front());
      to_replay_.pop_front();
      return work;
    }
    if (seeks == Seeks::membership && is_member_) return MemberWork{};
    changed_.wait_for(lock, std::chrono::seconds(1));
  }
}

void MemberLoop::on_committed(std::uint64_t step, bool is_average, std::uint64_t hash) {
  post([this, step, is_average, hash] {
    GW_CHECK(running_ && running_->step == step);
    auto update = std::make_shared<Update>();
    update->step = step;
    update->is_average = is_average;
    update->world = running_->world;
    for (std::optional<Bytes>& result : running_->results) {
      GW_CHECK(result.has_value());
      chain_ = checksum(*result, chain_);
      update->results.push_back(std::move(*result));
    }
    running_.reset();
    last_update_ = std::move(update);
    donor_.add_update(last_update_, now());
    member_->on_committed(step, hash_with(hash), now());
  });
}

void MemberLoop::on_saved(std::uint64_t step, Bytes state) {
  {
    const std::lock_guard lock(mutex_);
    save_at_.reset();
  }
  post([this, step, state = std::move(state)]() mutable {
    // The results of the last step belong to the state: a member must be able to give them.
    FieldWriter out;
    out.put(chain_);
    const Bytes update = last_update_ ? to_bytes(*last_update_) : Bytes();
    out.put_count(update.size());
    out.put_bytes(update);
    out.put_bytes(state);
    donor_.add_model(step, out.take(), now());
    const Manifest* const manifest = donor_.manifest_of(step);
    for (const MemberId& id : std::exchange(askers_, {})) send(id, to_bytes(*manifest));
  });
}

void MemberLoop::on_loaded(std::uint64_t step, std::uint64_t hash) {
  post([this, step, hash] {
    is_loaded_ = true;
    replayed_ = step;
    replayed_hash_ = hash_with(hash);
    finish_catch_up();
  });
}

void MemberLoop::on_replayed(std::uint64_t step, std::uint64_t hash) {
  post([this, step, hash] {
    if (handed_.empty() || handed_.front().step != step) return;
    last_update_ = std::make_shared<const Update>(std::move(handed_.front()));
    handed_.pop_front();
    for (const Bytes& result : last_update_->results) chain_ = checksum(result, chain_);
    replayed_ = step;
    replayed_hash_ = hash_with(hash);
    finish_catch_up();
  });
}

void MemberLoop::on_wrong_rank(std::uint64_t view, std::size_t rank) {
  {
    const std::lock_guard lock(mutex_);
    begin_.reset();
  }
  post([this, view, rank] {
    const View& present = member_->view();
    if (present.number != view) {
      return say_over(EndReason::diverged, certain_step(),
                      "a step cannot be completed: another member's frames are wrong");
    }
    if (rank >= present.members.size()) return;
    if (Connection* const connection = find(present.members[rank].id)) close(*connection);
  });
}

void MemberLoop::leave() noexcept {
  post([this] { member_->on_leave(now()); });
}

void MemberLoop::abandon() noexcept {
  post([this] { say_over(EndReason::left, certain_step(), "this process gave the run up"); });
}

void MemberLoop::on_result(std::uint64_t view, std::uint64_t step, std::size_t rank, Bytes frames,
                           const std::vector<std::size_t>& listeners) {
  post([this, view, step, rank, frames = std::move(frames), listeners]() mutable {
    if (!running_ || running_->step != step || running_->world.number != view) return;
    for (const std::size_t listener : listeners) {
      send(running_->world.members[listener].id,
           to_bytes(Result{view, step, static_cast<std::uint32_t>(rank), frames}));
    }
    take_result(rank, std::move(frames));
  });
}

// Of the step under way.
void MemberLoop::take_result(std::size_t rank, Bytes frames) {
  const std::uint64_t view = running_->world.number, step = running_->step;
  running_->results[rank] = std::move(frames);
  std::erase_if(fetches_, [&](const Fetch& fetch) { return fetch.frame.rank == rank; });
  const auto is_here = [](const std::optional<Bytes>& result) { return result.has_value(); };
  if (listens() && std::ranges::all_of(running_->results, is_here)) {
    auto results = std::make_shared<std::vector<Bytes>>();
    for (const std::optional<Bytes>& result : running_->results) results->push_back(*result);
    const std::lock_guard lock(mutex_);
    if (verdict_.view == view && verdict_.step == step) verdict_.results = std::move(results);
    changed_.notify_all();
  }
  member_->on_frame(view, step, rank);
}

void MemberLoop::await_commit(std::uint64_t view, std::uint64_t step) {
  std::unique_lock lock(mutex_);
  const auto is_this = [&] { return verdict_.view == view && verdict_.step == step; };
  changed_.wait(lock, [&] { return end_ || is_stopping_ || !is_this() || verdict_.is_commit; });
  if (!is_this() || !verdict_.is_commit) throw StepAborted();
}

std::vector<Bytes> MemberLoop::await_results(std::uint64_t view, std::uint64_t step) {
  await_commit(view, step);
  const std::lock_guard lock(mutex_);
  GW_CHECK(verdict_.results);  // nothing is committed here without them
  return *std::exchange(verdict_.results, nullptr);
}

// --- The thread ----------------------------------------------------------------------------------

void MemberLoop::run() {
  try {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (is_stopping_ && !is_over_) break;
      }
      turn();
      if (is_over_ && has_said_farewell()) break;
    }
  } catch (const std::exception& error) {
    say_over(EndReason::diverged, certain_step(), error.what());
  }
  if (mail_) mail_->end();
  if (running_) running_->mail->end();
  connections_.clear();
  // Whoever waits must not wait for ever.
  say_over(EndReason::left, certain_step(), "this process has ended");
}

// Whoever stays has read all that was sent, such as the decision that this member leaves, and has
// closed the connection.
bool MemberLoop::has_said_farewell() {
  for (const auto& connection : connections_) {
    if (!connection->has_unsent()) connection->end_writing();
  }
  return connections_.empty() || now() - over_since_ > kFarewell;
}

void MemberLoop::turn() {
  std::vector<Connection*> open;
  for (const auto& connection : connections_) open.push_back(connection.get());
  hub_.wait(open, kTick);
  run_tasks();
  act();
  take_connections();
  for (Connection* connection : open) read(*connection);
  act();
  drop_closed();
  tick();
  act();
  flush();
  drop_closed();
  act();
  flush();
}

void MemberLoop::run_tasks() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) {
    if (is_over_) return;
    task();
    act();
  }
}

void MemberLoop::take_connections() {
  constexpr std::size_t kConnectionsMax = 4 * kMembersMax;
  for (auto& connection : hub_.take_new()) {
    if (is_over_) continue;
    if (connections_.size() >= kConnectionsMax) continue;
    connection->send(to_bytes(Introduce{self_}));
    connections_.push_back(std::move(connection));
    read(*connections_.back());
  }
}

void MemberLoop::read(Connection& connection) {
  if (std::ranges::find(closing_, &connection) != closing_.end()) return;
  const bool is_open = connection.read([&](Packet packet) {
    const bool goes_on = handle(connection, std::move(packet));
    act();
    return goes_on && std::ranges::find(closing_, &connection) == closing_.end();
  });
  if (!is_open) close(connection);
}

void MemberLoop::flush() {
  for (const auto& connection : connections_) {
    if (connection->has_unsent() && !connection->write()) close(*connection);
  }
}

// A connection is forgotten before the membership is told.
void MemberLoop::drop_closed() {
  for (Connection* connection : std::exchange(closing_, {})) {
    const auto place = std::ranges::find_if(
        connections_, [&](const auto& known) { return known.get() == connection; });
    if (place == connections_.end()) continue;
    const std::optional<Member> peer = connection->peer;
    const bool is_known = peer && find(peer->id) == connection;
    connections_.erase(place);
    if (!is_known) continue;
    by_id_.erase(peer->id);
    donor_.forget(peer->id);
    fetcher_.on_lost(peer->id);
    if (is_over_) continue;
    member_->on_lost(peer->id, Evidence::closed, now());
    act();
  }
}

Connection* MemberLoop::find(const MemberId& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

void MemberLoop::send(const MemberId& to, Bytes bytes) {
  if (Connection* const connection = find(to)) connection->send(std::move(bytes));
}

void MemberLoop::tick() {
  const Time time = now();
  if (is_over_ || time < next_tick_) return;
  next_tick_ = time + kTick;
  member_->on_tick(time);
  if (!member_->is_changing()) changing_since_ = time;
  for (Fetch& fetch : fetches_) {
    if (time < fetch.next) continue;
    constexpr Time kAskAgain{200};
    fetch.next = time + kAskAgain;
    const auto& [from, world, step, rank] = fetch.frame;
    send(from, to_bytes(FetchResult{world, step, static_cast<std::uint32_t>(rank)}));
  }
  donor_.serve(certain_step(), time, send_);
  tick_joining();
  {
    // No step is under way, for want of members: the present state will do.
    const std::lock_guard lock(mutex_);
    if (save_at_ && *save_at_ > member_->committed() && !running_) {
      save_at_ = member_->committed();
      changed_.notify_all();
    }
  }
  const bool is_few =
      member_->view().number != 0 && member_->view().members.size() < options_.members_least;
  const bool was_few = std::exchange(is_few_, is_few);
  if (!was_few || !is_few) few_since_ = time;
  if (is_few && !was_few && options_.on_event) {
    options_.on_event({.kind = ElasticEvent::Kind::waiting,
                       .view = member_->view(),
                       .step = member_->committed(),
                       .text = "waiting for " + std::to_string(options_.members_least) +
                               " members; there are " +
                               std::to_string(member_->view().members.size())});
  }
  if (is_few && time - few_since_ > options_.wait) {
    say_over(EndReason::no_quorum, certain_step(),
             "there were fewer than " + std::to_string(options_.members_least) + " members for " +
                 std::to_string(options_.wait.count() / 1000) + " s");
  }
}

void MemberLoop::tick_joining() {
  const bool is_knocking = member_->view().number == 0;
  if (!is_knocking && !catch_up_to_) return;
  const Time time = now();
  fetcher_.tick(donors(), time, send_);
  if (auto state = fetcher_.take_state()) hand_state(std::move(*state));
  const std::uint64_t up_to = is_knocking ? ~std::uint64_t{0} : *catch_up_to_;
  while (is_loaded_ && handed_.size() < 64) {
    std::optional<Update> update = fetcher_.take_update(up_to);
    if (!update) break;
    handed_.push_back(*update);
    const std::lock_guard lock(mutex_);
    to_replay_.push_back(ReplayWork{std::move(*update)});
    changed_.notify_all();
  }
  if (catch_up_to_ && time - catching_up_since_ > options_.silence) {
    say_over(EndReason::not_admitted, 0, "no member could give the updates that are missing here");
  }
}

// Without threads that read it: parts that are not understood make it no state.
void MemberLoop::hand_state(Bytes state) {
  FieldReader in(state, 0);
  const auto chain = in.take<std::uint64_t>();
  const auto update = in.take_bytes(in.take<std::uint64_t>());
  const auto packet = parse_packet(update.size() > kLengthBytes ? update.subspan(kLengthBytes)
                                                                : std::span<const std::byte>());
  if (in.failed() || (packet && !std::holds_alternative<Update>(*packet))) {
    return say_over(EndReason::not_admitted, 0, "the run's state is not understood here");
  }
  chain_ = chain;
  last_update_ = packet ? std::make_shared<const Update>(std::get<Update>(*packet)) : nullptr;
  is_loaded_ = false;
  handed_.clear();
  const std::span<const std::byte> rest = std::span<const std::byte>(state).subspan(in.at());
  const std::lock_guard lock(mutex_);
  to_replay_.clear();
  to_replay_.push_back(LoadWork{{rest.begin(), rest.end()}});
  changed_.notify_all();
}

void MemberLoop::say_over(EndReason reason, std::uint64_t settled, std::string text) {
  if (!is_over_) over_since_ = now();
  is_over_ = true;
  if (mail_) mail_->end();
  if (running_) running_->mail->end();
  const std::lock_guard lock(mutex_);
  if (!end_) end_ = ElasticEnd{reason, settled, std::move(text)};
  changed_.notify_all();
}

}  // namespace gradwire::elastic
