// For tests of train and compare: a directory of their own, and the real program as a shell starts
// it.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/test_program.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::cli {

using Names = std::vector<std::string>;

class TrainTest : public testing::Test {
 protected:
  Outcome in_a_process(const std::string& call) const {
    const std::string out = directory_ / "stdout";
    const std::string err = directory_ / "stderr";
    const int status = std::system(("{ " + call + "; } >" + out + " 2>" + err).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
  }

  // What starts so many MPI ranks. Open MPI leaks; that is not ours to report.
  static std::string mpirun(int ranks) {
    return "ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe --bind-to none "
           "-n " +
           std::to_string(ranks) + " ";
  }

  static void expect_refused(const Outcome& outcome, std::string_view what) {
    EXPECT_EQ(outcome.exit_code, kWrongUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(contains(outcome.err, what)) << "expected: " << what << "\n" << outcome.err;
  }

  const TestDirectory directory_;
  const std::string out_ = directory_ / "run";
};

}  // namespace gradwire::cli
