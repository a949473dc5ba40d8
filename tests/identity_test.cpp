// The same seed gives the same bits, whatever the ranks are: threads, processes over TCP, or an
// MPI job.
#include "tests/ranks/identity.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "gradwire/transport/mpi.h"
#include "tests/process_group.h"

namespace gradwire {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 3, 4, 8};

#ifdef __SANITIZE_ADDRESS__
constexpr IdentityList kUsual = IdentityList::quick;
#else
constexpr IdentityList kUsual = IdentityList::usual;
#endif

using Lines = std::vector<std::string>;

Lines lines_of_threads(std::size_t ranks, IdentityList list) {
  Lines lines;
  run_communicators(ranks, [&](Communicator& communicator) {
    run_identity(communicator, list, [&](const std::string& line) {
      if (communicator.rank() == 0) lines.push_back(line);
    });
  });
  return lines;
}

// What rank 0 of the group prints.
Lines lines_of(ProcessGroup& group) {
  constexpr std::chrono::minutes kTimeMax{10};
  EXPECT_TRUE(group.wait_for_all(kTimeMax));
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!group.has_ended(i)) continue;
    EXPECT_EQ(group.exit_code(i), 0) << group.err(i);
  }
  Lines lines;
  std::istringstream stream(group.out(0));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> arguments_for(IdentityList list) {
  switch (list) {
    case IdentityList::quick:
      return {"identity", "--quick"};
    case IdentityList::full:
      return {"identity", "--full"};
    default:
      return {"identity"};
  }
}

Lines lines_of_tcp(std::size_t ranks, IdentityList list) {
  ProcessGroup group;
  start_tcp_ranks(group, ranks, [&](std::size_t) { return arguments_for(list); });
  return lines_of(group);
}

Lines lines_of_mpi(std::size_t ranks, IdentityList list) {
  ProcessGroup group;
  start_mpi_ranks(group, ranks, arguments_for(list));
  return lines_of(group);
}

void expect_same(const Lines& lines, const Lines& expected) {
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], expected[i]);
}

#define SKIP_WITHOUT_MPI()                                            \
  do {                                                                \
    if (!has_mpi()) GTEST_SKIP() << "this build has no MPI";          \
    if (!has_program("mpirun")) GTEST_SKIP() << "there is no mpirun"; \
  } while (false)

class Identity : public testing::TestWithParam<std::size_t> {};

TEST_P(Identity, TcpGivesTheSameBitsAsInProcess) {
  expect_same(lines_of_tcp(GetParam(), kUsual), lines_of_threads(GetParam(), kUsual));
}

TEST_P(Identity, MpiGivesTheSameBitsAsInProcess) {
  SKIP_WITHOUT_MPI();
  expect_same(lines_of_mpi(GetParam(), kUsual), lines_of_threads(GetParam(), kUsual));
}

class IdentitySlow : public testing::TestWithParam<std::size_t> {};

TEST_P(IdentitySlow, EveryTransportGivesTheSameBitsForEveryCodecAndLength) {
  const Lines expected = lines_of_threads(GetParam(), IdentityList::full);
  expect_same(lines_of_tcp(GetParam(), IdentityList::full), expected);
  SKIP_WITHOUT_MPI();
  expect_same(lines_of_mpi(GetParam(), IdentityList::full), expected);
}

std::string ranks_name(const testing::TestParamInfo<std::size_t>& info) {
  return "Ranks" + std::to_string(info.param);
}

INSTANTIATE_TEST_SUITE_P(Size, Identity, testing::ValuesIn(kSizes), ranks_name);
INSTANTIATE_TEST_SUITE_P(Size, IdentitySlow, testing::ValuesIn(kSizes), ranks_name);

}  // namespace
}  // namespace gradwire
