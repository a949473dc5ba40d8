// Members that share hosts, and those who become members while others have memories.
#include "gradwire/elastic/host_step.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "gradwire/elastic/elastic_group.h"
#include "gtest/gtest.h"

namespace gradwire::elastic {
namespace {

membership::View view_of(const std::vector<std::string>& addresses) {
  membership::View view;
  for (const std::string& address : addresses) {
    view.members.push_back({{1, view.members.size() + 1}, address});
  }
  return view;
}

TEST(HostStep, MembersWithOneHostInTheirAddressesShareIt) {
  using Hosts = std::vector<std::size_t>;
  EXPECT_EQ(hosts_of(view_of({"a:1", "b:1", "a:2", "c:1", "b:2"})), (Hosts{0, 1, 0, 2, 1}));
  EXPECT_EQ(hosts_of(view_of({"[::1]:5", "[::2]:5", "[::1]:6"})), (Hosts{0, 1, 0}));
  EXPECT_EQ(hosts_of(view_of({"a:1", "no port", "a:2", "", "::1"})), (Hosts{0, 1, 0, 2, 3}));
  EXPECT_EQ(hosts_of(view_of({"a:1", "b:1", "c:1"})), Hosts()) << "one member on each host";
  EXPECT_EQ(hosts_of(view_of({"a:1", "a:2"})), Hosts()) << "one host";
  EXPECT_EQ(first_ranks({0, 1, 0, 2, 1}), (Hosts{0, 1, 3}));
}

// A run of members on threads. Each has a gradient of its own, the same number everywhere.
class Members {
 public:
  explicit Members(const char* spec) : spec_(spec) {}
  ~Members() {
    is_over_ = true;
    threads_.clear();
  }

  // Waits until all have taken some steps together. The last output of every member, then.
  void add(const std::string& host, float gradient) {
    gradients_.push_back(gradient);
    const std::size_t index = gradients_.size() - 1;
    threads_.emplace_back([this, host, index] { live(host, index); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return steps_of_all_ == 5 * gradients_.size(); });
    steps_of_all_ = 0;
  }
  float mean() const {
    return std::accumulate(gradients_.begin(), gradients_.end(), 0.0F) /
           static_cast<float>(gradients_.size());
  }
  std::vector<float> outputs() {
    const std::lock_guard lock(mutex_);
    return outputs_;
  }
  // In the last step: the others only add up and listen.
  std::size_t exchanging() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(bytes_sent_, [](std::uint64_t bytes) { return bytes > 0; }));
  }
  bool has_poison() const { return has_poison_; }
  void set_gradient(std::size_t index, float gradient) {
    const std::lock_guard lock(mutex_);
    gradients_[index] = gradient;
  }
  template <class Condition>
  void wait_for(const Condition& condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }

 private:
  static constexpr std::size_t kElements = 5000;
  static constexpr std::size_t kBatch = 120;  // for up to 5 members, equal shares

  void live(const std::string& host, std::size_t index) {
    std::vector<std::string> join;
    {
      const std::lock_guard lock(mutex_);
      outputs_.resize(std::max(outputs_.size(), index + 1));
      bytes_sent_.resize(outputs_.size());
      if (!address_.empty()) join.push_back(address_);
    }
    ElasticGroup group({{"weights", {kElements}}}, spec_,
                       {.listen = host + ":0", .join = join, .global_batch = kBatch},
                       {.apply =
                            [&](const ElasticUpdate& update) {
                              const std::lock_guard lock(mutex_);
                              outputs_[index] = update.outputs[0][kElements - 1];
                              if (update.is_poisoned) has_poison_ = true;
                            },
                        .save = [] { return std::vector<std::byte>(); },
                        .load = [](std::span<const std::byte>) {},
                        .hash = [&](std::uint64_t) { return hash_of(index); }});
    {
      const std::lock_guard lock(mutex_);
      if (address_.empty()) address_ = group.address();
    }
    while (const auto turn = group.next()) {
      // Nothing is computed: a newcomer would never catch up with members that wait for nobody.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (is_over_) group.leave();
      std::vector<float> gradient(kElements, turn->share ? gradient_of(index) : 0);
      const std::span<float> span(gradient);
      const std::size_t samples = turn->share ? kBatch / turn->shares : 0;
      const auto report = group.step({&span, 1}, {.samples = samples});
      if (!report) break;
      count(*turn, index, report->method.traffic.bytes_sent);
    }
  }
  float gradient_of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return gradients_[index];
  }
  std::uint64_t hash_of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return std::bit_cast<std::uint32_t>(outputs_[index]) + std::uint64_t{1};
  }
  // Steps in which all had a share.
  void count(const ElasticTurn& turn, std::size_t index, std::uint64_t bytes_sent) {
    const std::lock_guard lock(mutex_);
    bytes_sent_[index] = bytes_sent;
    if (turn.shares != gradients_.size() || turn.members != gradients_.size()) return;
    if (steps_of_all_ < 5 * gradients_.size()) ++steps_of_all_;
    changed_.notify_all();
  }

  const char* const spec_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string address_;
  std::vector<float> gradients_, outputs_;
  std::vector<std::uint64_t> bytes_sent_;
  std::size_t steps_of_all_ = 0;
  std::atomic<bool> is_over_ = false, has_poison_ = false;
  std::vector<std::jthread> threads_;
};

void expect_mean(Members& run) {
  for (const float output : run.outputs()) EXPECT_NEAR(output, run.mean(), 1e-5);
}

// Shifts and errors of those who were there before stay right when another one comes.
TEST(HostStep, ThreadMemoriesFitToTheMeanWhenNewcomersArrive) {
  for (const char* const spec :
       {"none", "ef(topk(100%), down=none)", "ef21(topk(100%), down=none)", "diana(none)"}) {
    SCOPED_TRACE(spec);
    Members run(spec);
    for (const float gradient : {1.0F, 3.0F, 8.0F, 4.0F}) {
      run.add("127.0.0.1", gradient);
      expect_mean(run);
    }
  }
}

TEST(HostStep, ThreadMembersOfAHostAddUp) {
  for (const char* const spec :
       {"none", "ef(topk(100%), down=none)", "ef21(topk(100%), down=none)", "diana(none)"}) {
    SCOPED_TRACE(spec);
    Members run(spec);
    run.add("127.0.0.1", 1);
    run.add("127.0.0.1", 3);
    EXPECT_EQ(run.exchanging(), 2u) << "there is only one host";
    run.add("127.0.0.2", 8);  // from here on two levels: one that exchanged is a listener now
    expect_mean(run);
    run.add("127.0.0.2", 4);
    expect_mean(run);
    run.add("127.0.0.3", 24);
    expect_mean(run);
    EXPECT_EQ(run.exchanging(), 3u) << "one on each host";
    EXPECT_FALSE(run.has_poison());
  }
}

TEST(HostStep, ThreadANumberThatIsNoneIsSeenByAll) {
  Members run("ef(topk(100%))");
  run.add("127.0.0.1", 1);
  run.add("127.0.0.2", 3);
  run.add("127.0.0.1", 8);
  run.set_gradient(2, std::nanf(""));  // of a listener
  run.wait_for([&] { return run.has_poison(); });
  run.set_gradient(2, 8);
}

}  // namespace
}  // namespace gradwire::elastic
