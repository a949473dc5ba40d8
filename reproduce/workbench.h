// What a claim is measured with. Every finished piece of work is kept in a directory, so that a
// reproduction which was stopped or killed goes on where it was. For one thread.
//
//   DIR/trials/NAME.json   small results
//   DIR/runs/NAME          training runs, as `gradwire train` leaves them, without checkpoints
//
// Those of a quick reproduction are in quick-trials and quick-runs, so that none is taken for one
// of full size.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
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

  // How many pieces of work there will be, for the time that is left. Called first.
  void expect(std::size_t trials, std::size_t runs);

  // A piece of work whose result is a small JSON document; not done again where it is kept. Numbers
  // that are not finite come back as null the next time. Throws Stopped before work begins that
  // nobody wants any more.
  record::Json trial(const std::string& name, const std::function<record::Json()>& work);

  // Whether that piece need not be done.
  bool keeps_trial(const std::string& name) const;

  // A training run (network or convex) by threads of this process; read where it has finished, gone
  // on with where it was stopped. Throws Stopped, and what training throws.
  session::FinishedRun train(const std::string& name, session::TrainOptions options,
                             const std::string& method);

  // A line that stays, on stderr.
  void say(std::string_view line) const;

  std::size_t pieces_done() const { return trials_.done + runs_.done; }  // by this object
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
};

}  // namespace gradwire::reproduce
