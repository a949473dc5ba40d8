#include "gradwire/transport/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "gradwire/core/error_test_support.h"

namespace gradwire {
namespace {

TEST(SharedMemory, IsZeroAtFirst) {
  const auto memory = SharedMemory::create(10'000);
  ASSERT_EQ(memory->bytes().size(), 10'000u);
  EXPECT_TRUE(std::ranges::all_of(memory->bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(SharedMemory, ThreadsOfAProcessShareAMapping) {
  const auto memory = SharedMemory::create(100);
  EXPECT_EQ(SharedMemory::open(memory->ticket()), memory);
}

TEST(SharedMemory, AnotherProcessWritesIntoIt) {
  auto memory = SharedMemory::create(100);
  const auto ticket = memory->ticket();
  const pid_t child = fork();
  if (child == 0) {
    memory.reset();  // what it has inherited
    const int opened = [&] {
      try {
        SharedMemory::open(ticket)->bytes()[99] = std::byte{7};
        return 0;
      } catch (const Error&) {
        return 1;
      }
    }();
    _exit(opened);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory->bytes()[99], std::byte{7});
}

TEST(SharedMemory, LeavesNothingBehind) {
  std::string ticket;
  {
    const auto memory = SharedMemory::create(100);
    ticket = memory->ticket();
  }
  EXPECT_NE(error_of([&] { SharedMemory::open(ticket); }), "");
}

TEST(SharedMemory, SaysWhyItCannotBeOpened) {
  const auto memory = SharedMemory::create(100);
  const std::string self = std::to_string(getpid());
  EXPECT_NE(error_of([&] {
              SharedMemory::open(self + "/0/gradwire-0/100");
            }).find("containers do not share it"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              SharedMemory::open("4194305/3/gradwire-0/100");
            }).find("cannot find the memory of process 4194305"),
            std::string::npos);
  EXPECT_NE(error_of([&] { SharedMemory::open("what"); }).find("names no shared memory"),
            std::string::npos);
  EXPECT_NE(error_of([&] { SharedMemory::create(std::size_t{1} << 60); }).find("cannot get"),
            std::string::npos);
}

}  // namespace
}  // namespace gradwire
