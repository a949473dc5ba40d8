#include "session/rank/disk.h"

#include <fstream>
#include <random>
#include <string>

#include "gradwire/collective/rank_sums.h"
#include "gradwire/file/file_failure.h"

namespace gradwire::session {

bool leads_disk(Communicator& communicator, const std::filesystem::path& directory) {
  // Rank 0's number keeps files apart that a killed run has left behind.
  const std::uint64_t key = gather_from_ranks(communicator, std::random_device()()).front();
  const auto mark = [&](std::size_t rank) {
    return directory / (".rank" + std::to_string(rank) + "-" + std::to_string(key));
  };
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) fail_file(directory, "cannot be created: " + failure.message());
  std::ofstream(mark(communicator.rank())).put('\n');
  communicator.barrier();
  std::size_t lowest = 0;
  while (lowest < communicator.rank() && !std::filesystem::exists(mark(lowest), failure)) ++lowest;
  communicator.barrier();
  std::filesystem::remove(mark(communicator.rank()), failure);
  return lowest == communicator.rank();
}

}  // namespace gradwire::session
