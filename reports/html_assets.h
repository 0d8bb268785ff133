#pragma once

// Internal to the HTML page: the files of reports/html/, as they are, embedded by
// reports/html/embed.cmake.

#include <string_view>

namespace detcheck {

extern const std::string_view kPageCss;
extern const std::string_view kPageHtml;
extern const std::string_view kPageJs;
extern const std::string_view kDataJs;
extern const std::string_view kBandsJs;
extern const std::string_view kPictureJs;
extern const std::string_view kCompareJs;

}  // namespace detcheck
