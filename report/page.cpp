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

// `connect` is the source of the policy's connect-src, and of its img-src: the page's icon.
std::string page_of(const record::Json& document, std::string_view connect) {
  std::string page;
  std::string_view rest = page_template();
  for (int i = 0; i < 2; ++i) {
    take_until(kConnectPlace, rest, page);
    page += connect;
  }
  take_until(kTitlePlace, rest, page);
  page += html_text(document["title"].get_ref<const std::string&>());
  take_until(kDocumentPlace, rest, page);
  page += script_json(document);
  page += rest;
  return page;
}

}  // namespace

std::string make_page(std::span<const Run> runs) { return page_of(make_document(runs), "'none'"); }

std::string make_live_page(const record::Json& document) {
  record::Json live = document;
  live["live"] = true;
  return page_of(live, "'self'");
}

void write_page(const std::filesystem::path& path, std::span<const Run> runs) {
  const std::string page = make_page(runs);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(page)));
  file.commit();
}

}  // namespace gradwire::report
