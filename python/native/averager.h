// Averager: one rank's part in averaging gradients, as a program in Python has it: its place among
// the ranks, the method, and what both have done so far. The ranks are processes that know where
// rank 0 listens. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/method.h"
#include "gradwire/transport/tcp.h"
#include "python/native/run_log.h"

namespace gradwire::python {

// What all steps so far took on this rank.
struct Totals {
  std::uint64_t steps = 0;
  std::uint64_t poisoned = 0;  // steps
  std::uint64_t uploads_skipped = 0;
  Traffic traffic = {};
  Phases phases = {};
  std::vector<std::uint64_t> tensor_bytes;  // as Method has them; empty where it does not know
};

class Averager {
 public:
  struct Options {
    TcpOptions tcp;
    CommunicatorOptions communicator;
    MethodOptions method;
    std::string spec;
    std::size_t parts = 1;        // of the model, each averaged by another rank of this host
    RunLog::Options record = {};  // without a directory none is written
  };

  // All ranks at once. Throws SpecError, StartError and FileError.
  explicit Averager(const Options& options);

  // The order that rank 0 proposes. All ranks at once.
  std::vector<std::uint64_t> agree(std::span<const std::uint64_t> proposal);
  // Sums over all ranks. All ranks at once.
  std::vector<std::uint64_t> sum(std::span<const std::uint64_t> own);

  // Makes the method for these tensors, anew if there is one. All ranks at once. The moments are
  // for a method that owns them: see MethodOptions.
  void make(std::vector<MethodTensor> tensors, std::vector<MomentSettings> moments = {});

  // A step, as of a method.
  void begin(const StepContext& context);
  void submit(std::size_t tensor, std::span<float> gradient);
  // Whether all was finite. `compute_seconds` is what the step took before its last gradient.
  bool finish(double compute_seconds);
  // What a rank thinks of the step that was finished last, for the record.
  void log(const Remark& remark);

  // The method, once it is made.
  Method& method();

  const Totals& totals() const { return totals_; }
  // Of strangers, while the ranks met.
  std::size_t refused_connections() const { return refused_connections_; }
  // What the method had to say since this was called last: plans, phases.
  std::vector<std::string> take_remarks();

  // The orderly end, with the last of the record. Waits for all ranks.
  void close();
  // The end without the others, who are told that this rank gave up. Waits for what is under way.
  void abandon();

 private:
  void count(const MethodReport& report);
  void remark(const std::string& line);

  const Options options_;
  std::unique_ptr<Communicator> communicator_;
  std::size_t refused_connections_ = 0;
  std::unique_ptr<RunLog> log_;  // null without a record
  std::unique_ptr<Method> method_;
  StepContext context_;
  Totals totals_;
  std::vector<std::string> remarks_;
};

}  // namespace gradwire::python
