#include "gradwire/file/atomic_file.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

using Names = std::vector<std::string>;

TEST(AtomicFile, AppearsWholeOnCommitAndNotBefore) {
  const TestDirectory directory;
  AtomicFile file(directory / "out");
  file.write(bytes_of("one "));
  file.write(bytes_of("two"));
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  file.commit();
  EXPECT_EQ(read_text(directory / "out"), "one two");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(AtomicFile, LeavesNothingBehindWithoutCommit) {
  const TestDirectory directory;
  {
    AtomicFile file(directory / "out");
    file.write(bytes_of("half"));
    EXPECT_EQ(directory.names().size(), 1u);
  }
  EXPECT_EQ(directory.names(), Names{});
}

TEST(AtomicFile, ReplacesTheTargetOnlyOnCommit) {
  const TestDirectory directory;
  write_text(directory / "out", "old");
  {
    AtomicFile file(directory / "out");
    file.write(bytes_of("half"));
  }
  EXPECT_EQ(read_text(directory / "out"), "old");
  AtomicFile file(directory / "out");
  file.write(bytes_of("new"));
  EXPECT_EQ(read_text(directory / "out"), "old");
  file.commit();
  EXPECT_EQ(read_text(directory / "out"), "new");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(AtomicFile, TwoWritersOfOneTargetDoNotMix) {
  const TestDirectory directory;
  AtomicFile first(directory / "out");
  AtomicFile second(directory / "out");
  first.write(bytes_of("first"));
  second.write(bytes_of("second"));
  first.commit();
  second.commit();
  EXPECT_EQ(read_text(directory / "out"), "second");
  EXPECT_EQ(directory.names(), Names{"out"});
}

TEST(AtomicFile, HasThePermissionsOfAnOrdinaryFile) {
  const TestDirectory directory;
  write_text(directory / "ordinary", "");
  AtomicFile file(directory / "out");
  file.commit();
  EXPECT_EQ(std::filesystem::status(directory / "out").permissions(),
            std::filesystem::status(directory / "ordinary").permissions());
}

TEST(AtomicFile, WritesThroughALink) {
  const TestDirectory directory;
  write_text(directory / "real", "old");
  std::filesystem::create_symlink("real", directory / "link");
  AtomicFile file(directory / "link");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_text(directory / "real"), "new");
}

TEST(AtomicFile, RefusesWhatIsNoRegularFile) {
  const TestDirectory directory;
  const auto message = [](const std::filesystem::path& path) {
    return message_of<FileError>([&] { AtomicFile file(path); });
  };
  EXPECT_EQ(message("/dev/null"), "/dev/null: is not a regular file, so it cannot be replaced");
  EXPECT_NE(message(directory / "").find("is not a regular file"), std::string::npos);
  std::filesystem::create_symlink("nowhere", directory / "link");
  EXPECT_NE(message(directory / "link").find("leads nowhere"), std::string::npos);
}

TEST(AtomicFile, SaysWhyItCannotBeCreated) {
  const TestDirectory directory;
  const std::filesystem::path path = directory / "missing" / "out";
  EXPECT_EQ(message_of<FileError>([&] { AtomicFile file(path); }),
            path.string() + ": cannot be created: No such file or directory");
}

TEST(AtomicFile, FailedCommitLeavesTheTargetAndNothingElse) {
  const TestDirectory directory;
  const std::string message = message_of<FileError>([&] {
    AtomicFile file(directory / "out");
    file.write(bytes_of("new"));
    std::filesystem::create_directory(directory / "out");  // which no file can replace
    file.commit();
  });
  EXPECT_EQ(message, (directory / "out").string() + ": cannot be replaced: Is a directory");
  EXPECT_TRUE(std::filesystem::is_directory(directory / "out"));
  EXPECT_EQ(directory.names(), Names{"out"});
}

}  // namespace
}  // namespace gradwire
