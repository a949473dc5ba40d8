#include "cli/program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/test_program.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/version.h"
#include "gtest/gtest.h"

namespace gradwire::cli {
namespace {

using Names = std::vector<std::string>;

const std::vector<Names> kCommands = {{"codecs"},
                                      {"encode"},
                                      {"decode"},
                                      {"inspect"},
                                      {"bench"},
                                      {"bench", "codec"},
                                      {"bench", "allreduce"}};

// The real program, as a shell starts it.
Outcome in_a_process(const std::string& arguments) {
  const TestDirectory directory;
  const std::string out = directory / "out";
  const std::string err = directory / "err";
  const int status =
      std::system((GRADWIRE_PROGRAM " " + arguments + " >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

void expect_wrong_usage(const Names& arguments, std::string_view what) {
  const Outcome outcome = gradwire(arguments);
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, what)) << "expected: " << what << "\n" << outcome.err;
}

TEST(Program, VersionIsPrintedWithTheName) {
  const Outcome outcome = gradwire({"--version"});
  EXPECT_EQ(outcome.exit_code, kDone);
  EXPECT_EQ(outcome.out, "gradwire " GRADWIRE_VERSION "\n");
}

TEST(Program, HelpListsEveryCommand) {
  const Outcome outcome = gradwire({"--help"});
  EXPECT_EQ(outcome.exit_code, kDone);
  for (const auto& command : kCommands) EXPECT_TRUE(contains(outcome.out, command.front()));
}

TEST(Program, HelpOfEveryCommandHasAnExampleOfIt) {
  for (Names arguments : kCommands) {
    std::string call = "gradwire";
    for (const std::string& word : arguments) call += ' ' + word;
    arguments.emplace_back("--help");
    const Outcome outcome = gradwire(arguments);
    EXPECT_EQ(outcome.exit_code, kDone);
    EXPECT_TRUE(contains(outcome.out, "Example:\n  " + call + ' ')) << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Program, WithoutACommandListsThem) {
  expect_wrong_usage(
      {}, "'gradwire' needs a command: codecs, methods, encode, decode, inspect, bench, advise");
  expect_wrong_usage({"bench"}, "'gradwire bench' needs a command: codec, allreduce");
}

TEST(Program, UnknownNamesGetTheNearestOne) {
  expect_wrong_usage({"codec"}, "there is no command 'codec'; did you mean 'codecs'?");
  expect_wrong_usage({"bench", "codecs"}, "there is no command 'codecs'; did you mean 'codec'?");
  expect_wrong_usage({"codecs", "--jsn"}, "there is no option '--jsn'; did you mean '--json'?");
  expect_wrong_usage({"encode", "--codek", "natural", "a.f32", "a.gw"},
                     "there is no option '--codek'; did you mean '--codec'?");
  expect_wrong_usage({"xylophone"}, "there is no command 'xylophone'\n");
}

TEST(Program, WrongUsageSaysWhoseHelpToRead) {
  expect_wrong_usage({"bench", "codec", "--rounds", "0"}, "'gradwire bench codec --help'");
}

TEST(Program, ArgumentsThatAreMissingWrongOrTooManyAreWrongUsage) {
  expect_wrong_usage({"encode", "a.f32", "a.gw"}, "--codec is required");
  expect_wrong_usage({"inspect"}, "FILE is required");
  expect_wrong_usage({"inspect", "a.gw", "b.gw"}, "'b.gw' is one argument too many");
}

TEST(Program, NumbersAreWholeAndWithinTheirBounds) {
  const auto refused = [](const Names& command, const Names& texts, std::string_view what) {
    for (const std::string& text : texts) {
      Names arguments = command;
      arguments.push_back(text);
      expect_wrong_usage(arguments,
                         "'" + text + "' is not a whole number from " + std::string(what));
    }
  };
  refused({"codecs", "--elements"}, {"0", "-1", "many", "1.5", "5X", "1e13", "1099511627777", ""},
          "1 to 1099511627776");
  refused({"decode", "a.gw", "a.f32", "--threads"}, {"0", "1025"}, "1 to 1024");
  refused({"encode", "a.f32", "a.gw", "--codec", "natural", "--seed"},
          {"-1", "18446744073709551616", "0x10", " 1"}, "0 to 18446744073709551615");
}

TEST(Program, NumbersMayHaveAUnitOrAnExponent) {
  for (const char* text : {"2000", "2k", "2e3", "0.002M"}) {
    const Outcome outcome = gradwire({"codecs", "--json", "--elements", text});
    EXPECT_EQ(outcome.json()["codecs"][0]["guarantee"]["elements"], 2000) << text;
  }
}

TEST(Program, HelpIsAlsoACommand) {
  EXPECT_EQ(gradwire({"help"}).out, gradwire({"--help"}).out);
  EXPECT_EQ(gradwire({"help", "bench", "codec"}).out, gradwire({"bench", "codec", "--help"}).out);
  EXPECT_EQ(gradwire({"-V"}).out, gradwire({"--version"}).out);
}

TEST(Program, CompletionAndManualNameAllOptions) {
  const std::string completion = gradwire({"completion", "bash"}).out;
  EXPECT_TRUE(contains(completion, "'bench codec') words='"));
  EXPECT_TRUE(contains(completion, "--ranks-per-host"));
  EXPECT_FALSE(contains(completion, "agent"));
  const std::string manual = gradwire({"man"}).out;
  EXPECT_TRUE(manual.starts_with(".TH GRADWIRE 1"));
  EXPECT_TRUE(contains(manual, "gradwire bench codec"));
  EXPECT_TRUE(contains(manual, "\\-\\-batch\\-size"));
}

TEST(Program, CommandOfRunNeedsADoubleDash) {
  expect_wrong_usage({"run", "-H", "a,b", "train", "--model", "cnn"}, "write -- in front of");
  expect_wrong_usage({"run", "--", "train"}, "give the hosts: -H host1,host2");
  expect_wrong_usage({"run", "-H", "a,,b", "--", "train"}, "'' is not the name of a host");
  expect_wrong_usage({"run", "-H", "a,a", "--", "train"}, "a is named twice");
  expect_wrong_usage({"run", "-H", "localhost,b", "--", "train"}, "cannot reach the first one");
}

TEST(Program, OptionsMayComeFromAFile) {
  const TestDirectory directory;
  const std::string path = directory / "run.toml";
  std::ofstream(path) << "# a comment\nmodel = \"logistic\"\nworkers = 3\nsteps = 1e2\n"
                      << "overwrite = true\nmethod = \"natural\"\n";
  const Outcome outcome = gradwire({"train", "--config", path, "--method", "fp16", "--dry-run",
                                    "--out", (directory / "run").string()});
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "would train logistic on generated with fp16, 3 workers"))
      << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(directory / "run"));
  expect_wrong_usage({"train", "--config", directory / "absent"}, "there is no such file");
  std::ofstream(path) << "modle = \"cnn\"\n";
  expect_wrong_usage({"train", "--config", path},
                     "'train' has no option 'modle'; did you mean 'model'?");
}

TEST(Program, WholeShareAndTooManyThreadsAreWarnedOf) {
  const TestDirectory directory;
  const Outcome outcome = gradwire({"train", "--model", "logistic", "--method", "ef(topk(1))",
                                    "--dry-run", "--out", (directory / "run").string()});
  EXPECT_TRUE(contains(outcome.err, "topk(1) keeps everything: 1 means 100%")) << outcome.err;
  EXPECT_EQ(gradwire({"train", "--model", "logistic", "--method", "ef(topk(1%))", "--dry-run",
                      "--out", (directory / "run").string()})
                .err,
            "");
}

TEST(Program, UnknownInstructionSetIsWrongUsage) {
  expect_wrong_usage({"bench", "codec", "--target", "foo"},
                     "'foo' is not an instruction set of this machine");
}

TEST(Program, LeadingZerosDoNotMakeANumberOctal) {
  const Outcome outcome = gradwire({"codecs", "--json", "--elements", "010"});
  EXPECT_EQ(outcome.json()["codecs"][0]["guarantee"]["elements"], 10);
}

TEST(Program, WrongSpecShowsThePositionAndTheNearestName) {
  for (Names arguments : {Names{"bench", "codec"}, Names{"encode", "a.f32", "a.gw"}}) {
    arguments.insert(arguments.end(), {"--json", "--codec", "topk(1%) | naturl"});
    const Outcome outcome = gradwire(arguments);
    EXPECT_EQ(outcome.exit_code, kWrongUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err,
              "gradwire: there is no codec called 'naturl'; did you mean 'natural'?\n"
              "  topk(1%) | naturl\n"
              "             ^\n");
  }
}

TEST(Program, ProcessEndsWithTheSameCodesAndKeepsStdoutForResults) {
  const Outcome done = in_a_process("codecs --json --elements 1000");
  EXPECT_EQ(done.exit_code, kDone);
  EXPECT_FALSE(done.json()["codecs"].empty());

  const Outcome failed = in_a_process("inspect --json no-such-file.gw");
  EXPECT_EQ(failed.exit_code, kFailed);
  EXPECT_EQ(failed.out, "");
  EXPECT_TRUE(contains(failed.err, "gradwire: no-such-file.gw: ")) << failed.err;

  const Outcome wrong = in_a_process("inspekt");
  EXPECT_EQ(wrong.exit_code, kWrongUsage);
  EXPECT_EQ(wrong.out, "");
}

TEST(Program, ResultsThatCannotBeWrittenAreAFailure) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);  // as on a full disk
  EXPECT_EQ(run_program({"codecs", "--elements", "100"}, {.out = out, .err = err}), kFailed);
  EXPECT_TRUE(contains(err.str(), "cannot write to stdout")) << err.str();
}

}  // namespace
}  // namespace gradwire::cli
