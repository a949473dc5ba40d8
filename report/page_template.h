// page/page.html with its styles and scripts inside, as inline.mjs put it together when gradwire
// was built.
#pragma once

#include <string_view>

namespace gradwire::report {

// The page has each of these once, in this order.
inline constexpr std::string_view kConnectPlace = "@GRADWIRE_CONNECT@";
inline constexpr std::string_view kTitlePlace = "@GRADWIRE_TITLE@";
inline constexpr std::string_view kDocumentPlace = "@GRADWIRE_DOCUMENT@";

std::string_view page_template();

}  // namespace gradwire::report
