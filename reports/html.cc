#include "reports/html.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "engine/base/sha256.h"
#include "reports/base64.h"
#include "reports/html_assets.h"
#include "reports/html_cells.h"
#include "reports/html_data.h"
#include "reports/html_requests.h"
#include "reports/html_scope.h"
#include "reports/html_summary.h"
#include "reports/html_text.h"

namespace detcheck {
namespace {

// 'sha256-…' of an inline script or style, as a page's policy names it.
std::string PolicyHash(std::string_view text) {
  const std::string hex = Sha256Hex(text);
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
  }
  return "'sha256-" + Base64(bytes) + "'";
}

std::string Policy(std::string_view style, std::string_view script) {
  return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " +
         PolicyHash(style) + "; script-src " + PolicyHash(script);
}

std::string Body(const Report& report, const std::vector<HtmlCell>& cells) {
  HtmlText html;
  AppendSummary(report, &html);
  AppendRequests(report, cells, &html);
  AppendScope(report, &html);
  AppendVoided(report, &html);
  AppendCommands(report, &html);
  AppendManifests(report, &html);
  return html.Take();
}

std::string Escaped(std::string_view text) {
  HtmlText html;
  html.Text(text);
  return html.Take();
}

// `page` with the value of each "{{name}}" in its place. What is put in is not looked at again.
std::string Filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string filled;
  while (!page.empty()) {
    const size_t open = page.find("{{");
    filled += page.substr(0, open);
    if (open == page.npos) break;
    const size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [known, value] : values) {
      if (known == name) filled += value;
    }
    page.remove_prefix(close + 2);
  }
  return filled;
}

}  // namespace

std::string RenderHtml(const Report& report) {
  const std::vector<HtmlCell> cells = CollectCells(report);
  std::string script;
  for (const std::string_view part : {kDataJs, kBandsJs, kPictureJs, kCompareJs, kPageJs})
    script += part;
  return Filled(kPageHtml, {{"policy", Policy(kPageCss, script)},
                            {"title", Escaped(TitleOf(report))},
                            {"style", std::string(kPageCss)},
                            {"body", Body(report, cells)},
                            {"data", HtmlData(report, cells)},
                            {"script", script}});
}

}  // namespace detcheck
