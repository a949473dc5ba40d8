// Workbench: does the trials and runs of a claim, and stores each finished one in a directory. A
// reproduction that was stopped or killed resumes from there. For one thread.
//
//   DIR/trials/NAME.json   small results
//   DIR/runs/NAME          training runs, as `gradwire train` writes them, without checkpoints
//
// Those of a quick reproduction are in quick-trials and quick-runs: they must not be mistaken for
// full ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "console/console.h"
#include "record/json_file.h"
#include "session/run_directory.h"
#include "session/train_options.h"

namespace gradwire::reproduce {

struct WorkbenchOptions {
  std::string claim;  // its name, for progress
  std::filesystem::path directory;
  std::filesystem::path data_directory = {};
  bool is_quick = false;
  bool is_kept_only = false;  // nothing is measured: what was not finished is missing
};

class Workbench {
 public:
  // Throws FileError for a directory that cannot be made. The console must outlive it.
  Workbench(WorkbenchOptions options, const console::Console& console);

  bool is_quick() const { return options_.is_quick; }
  // --data-dir, may be empty.
  const std::filesystem::path& data_directory() const { return options_.data_directory; }
  // Of this claim, for files that it needs beside trials and runs.
  const std::filesystem::path& directory() const { return options_.directory; }
  std::filesystem::path runs_directory() const;

  // The number of trials and runs, for the estimate of the remaining time. Called first.
  void expect(std::size_t trials, std::size_t runs);

  // Does a trial, whose result is a small JSON document, or reads the stored result. Numbers that
  // are not finite are null in a stored result. Throws Stopped, before the trial, if the user asked
  // to stop, or if nothing is to be measured.
  record::Json trial(const std::string& name, const std::function<record::Json()>& work);

  // True if the result of that trial is stored.
  bool keeps_trial(const std::string& name) const;

  // Does a training run (network or convex) with threads of this process, resumes a stopped one, or
  // reads a finished one. Throws Stopped as trial() does, and the errors of training.
  session::FinishedRun train(const std::string& name, session::TrainOptions options,
                             const std::string& method);

  // The same for a claim that can do without some of its runs: nothing instead of Stopped. The run
  // is then missing.
  std::optional<session::FinishedRun> train_if_possible(const std::string& name,
                                                        session::TrainOptions options,
                                                        const std::string& method);

  // Calls work(seed) for the seeds 1, 2, ..., whose runs are of use without one another. If it
  // throws Stopped after the first seed, the later ones are missing.
  void for_each_seed(std::uint64_t seeds, const std::function<void(std::uint64_t)>& work);

  // A line that stays, on stderr.
  void say(std::string_view line) const;

  std::size_t pieces_done() const { return trials_.done + runs_.done; }  // by this object
  // What the claim is measured without, in words: "8 of 18 runs", "2 of 3 seeds". Empty: nothing.
  const std::string& missing() const { return missing_; }
  bool lacks_seeds() const { return lacks_seeds_; }
  double seconds() const { return seconds_; }  // of all pieces, those kept from before included

 private:
  // Pieces of one kind.
  struct Pieces {
    std::size_t expected = 0;
    std::size_t seen = 0;  // done or kept
    std::size_t done = 0;
    double seconds = 0;  // of those done

    bool is_known() const { return done > 0 || seen >= expected; }
    double seconds_left() const;
  };

  std::filesystem::path trials_directory() const;
  std::filesystem::path trial_path(const std::string& name) const;
  void begin(const std::string& name) const;

  WorkbenchOptions options_;
  const console::Console& console_;
  Pieces trials_;
  Pieces runs_;
  double seconds_ = 0;
  std::size_t runs_missing_ = 0;
  std::string missing_;
  bool lacks_seeds_ = false;
};

}  // namespace gradwire::reproduce
