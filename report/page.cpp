#include "report/page.h"

#include "gradwire/core/check.h"
#include "gradwire/file/atomic_file.h"
#include "report/document.h"
#include "report/escape.h"
#include "report/page_template.h"

namespace gradwire::report {
namespace {

// Moves everything up to the place to the page, and takes the place away.
void take_until(std::string_view place, std::string_view& rest, std::string& page) {
  const std::size_t at = rest.find(place);
  GW_CHECK(at != rest.npos);
  page += rest.substr(0, at);
  rest.remove_prefix(at + place.size());
}

}  // namespace

std::string make_page(std::span<const Run> runs) {
  const record::Json document = make_document(runs);
  std::string page;
  std::string_view rest = page_template();
  take_until(kTitlePlace, rest, page);
  page += html_text(document["title"].get_ref<const std::string&>());
  take_until(kDocumentPlace, rest, page);
  page += script_json(document);
  page += rest;
  return page;
}

void write_page(const std::filesystem::path& path, std::span<const Run> runs) {
  const std::string page = make_page(runs);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(page)));
  file.commit();
}

}  // namespace gradwire::report
