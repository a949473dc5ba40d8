#include <filesystem>
#include <string>

#include "cli/test_program.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/transport/secret.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

class SecretCommand : public testing::Test {
 protected:
  const TestDirectory directory_;
  const std::string path_ = directory_ / "run.secret";
};

TEST_F(SecretCommand, MakesAFileAndSaysWhatToDoNext) {
  const Outcome outcome = gradwire({"secret", path_});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "--secret " + path_)) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "gradwire-secret-1")) << outcome.out;
  EXPECT_NO_THROW(read_secret_file(path_));
}

TEST_F(SecretCommand, DoesNotReplaceAFile) {
  EXPECT_EQ(gradwire({"secret", path_}).exit_code, kDone);
  const Outcome outcome = gradwire({"secret", path_});
  EXPECT_EQ(outcome.exit_code, kFailed);
  EXPECT_TRUE(contains(outcome.err, "exists")) << outcome.err;
}

// Workers are processes of the real program. What they write goes to a file.
int bench_by_tcp(const std::string& options, const std::string& output) {
  const int status = std::system((std::string(GRADWIRE_PROGRAM) +
                                  " bench allreduce --method none --elements 1000 --rounds 1 "
                                  "--transport tcp --workers 2 --deadline 5 " +
                                  options + " >" + output + " 2>&1")
                                     .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SecretCommand, WorkersUseTheSecretOfTheOptionOrOfTheEnvironment) {
  ASSERT_EQ(gradwire({"secret", path_}).exit_code, kDone);
  const std::string output = directory_ / "out";
  EXPECT_EQ(bench_by_tcp("--secret " + path_, output), kDone) << read_text(output);
  setenv("GRADWIRE_SECRET_FILE", path_.c_str(), 1);
  EXPECT_EQ(bench_by_tcp("", output), kDone) << read_text(output);
  std::filesystem::remove(path_);
  EXPECT_EQ(bench_by_tcp("", output), kFailed);  // so it was read
  unsetenv("GRADWIRE_SECRET_FILE");
  EXPECT_TRUE(contains(read_text(output), "the secret cannot be read")) << read_text(output);
}

TEST_F(SecretCommand, OptionsThatContradictOneAnotherAreWrongUsage) {
  const Outcome both =
      gradwire({"bench", "allreduce", "--transport", "tcp", "--secret", path_, "--tls-ca", path_});
  EXPECT_EQ(both.exit_code, kWrongUsage) << both.err;
  const Outcome two = gradwire(
      {"bench", "allreduce", "--transport", "tcp", "--tls-cert", path_, "--tls-ca", path_});
  EXPECT_EQ(two.exit_code, kWrongUsage) << two.err;
  EXPECT_TRUE(contains(two.err, "(--tls-key) is missing")) << two.err;
}

}  // namespace
}  // namespace gradwire::cli
