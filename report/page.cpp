#include "report/page.h"

#include "gradwire/file/atomic_file.h"

namespace gradwire::report {

std::string make_page(std::span<const Run> /*runs*/) { return ""; }

void write_page(const std::filesystem::path& path, std::span<const Run> runs) {
  const std::string page = make_page(runs);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(page)));
  file.commit();
}

}  // namespace gradwire::report
