// Writes the pages that page_test.mjs looks at.
//   example_pages DIRECTORY
#include <cstdio>
#include <exception>
#include <filesystem>

#include "report/page_test/example_runs.h"

namespace gradwire::report {
namespace {

void write_pages(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  write_page(directory / "network.html", network_runs(2000));
  write_page(directory / "seeds.html", seeds_runs());
  write_page(directory / "convex.html", convex_runs());
  write_page(directory / "adaptive.html", adaptive_runs());
  write_page(directory / "learned.html", learned_runs(2000));
  write_page(directory / "plain.html", plain_runs());
  write_page(directory / "hostile.html", hostile_runs());
  write_page(directory / "elastic.html", elastic_runs());
  write_page(directory / "empty.html", empty_runs());
  write_page(directory / "no-runs.html", {});
  std::vector<Run> large = network_runs(20'000);
  large.push_back(learned_runs(20'000).front());
  write_page(directory / "large.html", large);
}

}  // namespace
}  // namespace gradwire::report

int main(int count, char** arguments) {
  if (count != 2) return 2;
  try {
    gradwire::report::write_pages(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_pages: %s\n", error.what());
    return 1;
  }
}
