#include "reports/html_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "reports/console_failure.h"
#include "reports/console_words.h"

namespace detcheck {
namespace {

/// Distinct answers of one request that are listed; the others are counted.
constexpr size_t kMaxListedVariants = 40;
constexpr double kBarWidth = 100.0;
constexpr double kMinPieceWidth = 2.0;
constexpr double kPieceGap = 0.6;

using Cells = std::map<const RequestJudgement*, std::pair<size_t, const HtmlCell*>>;

// "    Cause:       numeric: …" as name and value.
void AppendLabelled(std::string_view lines, HtmlText* html) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const size_t begin = line.find_first_not_of(' ');
    const size_t colon = line.find(':');
    if (begin == line.npos || colon == line.npos) continue;
    const size_t value = line.find_first_not_of(' ', colon + 1);
    AppendFact(line.substr(begin, colon - begin),
               value == line.npos ? std::string_view() : line.substr(value), html);
  }
}

std::string_view KindOf(const HtmlVariant& variant) {
  if (!variant.divergence) return "same";
  if (variant.divergence->index || variant.divergence->text_offset) return "token";
  return variant.divergence->first_logprob_index ? "logprob" : "same";
}

// How many samples gave each distinct answer, as a bar: that of the reference first. Small pieces
// of one kind are one.
void AppendBar(const HtmlCell& cell, HtmlText* html) {
  html->Open("svg", {{"class", "bar"},
                     {"viewBox", fmt::format("0 0 {} 10", kBarWidth)},
                     {"preserveAspectRatio", "none"},
                     {"aria-hidden", "true"}});
  const double unit = kBarWidth / static_cast<double>(cell.samples.size());
  double begin = 0.0;
  double end = 0.0;
  for (auto variant = cell.variants.begin(); variant != cell.variants.end(); ++variant) {
    end += unit * static_cast<double>(variant->samples.size());
    const auto next = variant + 1;
    if (next != cell.variants.end() && end - begin < kMinPieceWidth &&
        KindOf(*next) == KindOf(*variant)) {
      continue;
    }
    html->Element("rect",
                  {{"class", KindOf(*variant)},
                   {"x", fmt::format("{:.2f}", begin)},
                   {"width", fmt::format("{:.2f}", std::max(end - begin - kPieceGap, kPieceGap))},
                   {"height", "10"}},
                  "");
    begin = end;
  }
  html->Close("svg");
}

std::string PositionInWords(const std::optional<int>& position) {
  return position ? fmt::format("{}", *position) : "–";
}

void AppendVariantRow(const Report& report, const HtmlCell& cell, const HtmlVariant& variant,
                      const std::string& name, HtmlText* html) {
  const auto& divergence = variant.divergence;
  html->Open("tr");
  html->Element("th", {{"scope", "row"}}, name);
  const auto cell_of = [&](std::string_view label, const std::string& text) {
    html->Element("td", {{"data-label", label}}, text);
  };
  cell_of("Samples", fmt::format("{}", variant.samples.size()));
  const bool by_text = cell.judgement->identity == TokenIdentity::kText;
  const auto place_of = [&](const Divergence& d) { return by_text ? d.text_offset : d.index; };
  cell_of(by_text ? "Texts differ from" : "Tokens differ from",
          divergence ? PositionInWords(place_of(*divergence)) : "reference");
  cell_of("Logprobs differ from",
          variant.trace < 0
              ? "no logprobs"
              : (divergence ? PositionInWords(divergence->first_logprob_index) : "reference"));
  cell_of("Cause",
          divergence && divergence->cause != Cause::kNone ? ToString(divergence->cause) : "–");
  cell_of("First of them", WhereItRan(report, cell.samples[variant.first].ref));
  html->Close("tr");
}

void AppendVariants(const Report& report, const HtmlCell& cell, HtmlText* html) {
  html->Open("table", {{"class", "variants stacks"}});
  html->Element("caption", "Distinct answers");
  html->Open("thead");
  html->Open("tr");
  const bool by_text = cell.judgement->identity == TokenIdentity::kText;
  for (const char* column :
       {"Answer", "Samples", by_text ? "Texts differ from byte" : "Tokens differ from position",
        "Logprobs differ from position", "Cause", "First of them"}) {
    html->Element("th", {{"scope", "col"}}, column);
  }
  html->Close("tr");
  html->Close("thead");
  html->Open("tbody");
  const std::vector<std::string> names = NamesOfVariants(cell);
  const size_t num_listed = std::min(kMaxListedVariants, cell.variants.size());
  for (size_t i = 0; i < num_listed; ++i) {
    AppendVariantRow(report, cell, cell.variants[i], names[i], html);
  }
  html->Close("tbody");
  html->Close("table");
  if (num_listed < cell.variants.size()) {
    html->Element("p", fmt::format("and {} more, all of them in the picture",
                                   cell.variants.size() - num_listed));
  }
}

class ModeSection {
 public:
  /// The first failure of the page is shown open: `any_open` is set with it.
  ModeSection(const Report& report, const ModeJudgement& mode, const Cells& cells, bool* any_open,
              HtmlText* html)
      : report_(report), mode_(mode), cells_(cells), any_open_(any_open), html_(*html) {}

  void Append() {
    html_.Open("section", {{"class", "mode"}, {"id", "mode-" + SlugOfMode(mode_)}});
    html_.Open("h2");
    html_.Text(NameOfMode(mode_) + " ");
    AppendBadge(mode_.verdict, &html_);
    html_.Close("h2");
    html_.Element("p", {{"class", "requirement"}}, RequirementOf(mode_));
    AppendList(mode_.verdict == Verdict::kPass ? std::vector<std::string>() : mode_.reasons);
    AppendList(mode_.notes);
    for (const RequestJudgement& request : mode_.requests) {
      if (request.subject) AppendRequest(request);
    }
    AppendCompany();
    html_.Close("section");
  }

 private:
  void AppendList(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    html_.Open("ul");
    for (const std::string& line : lines) html_.Element("li", line);
    html_.Close("ul");
  }

  void AppendCompany() {
    size_t num_neighbours = 0;
    size_t num_failed = 0;
    for (const RequestJudgement& request : mode_.requests) {
      if (request.subject) continue;
      ++num_neighbours;
      if (request.verdict == Verdict::kFail) ++num_failed;
    }
    if (num_neighbours == 0) return;
    html_.Open("details", {{"class", "company"}});
    html_.Element("summary",
                  fmt::format("Company: {}, {}", Several(num_neighbours, "neighbour"),
                              num_failed == 0 ? "none differs from its own repeats"
                                              : fmt::format("{} with divergences", num_failed)));
    for (const RequestJudgement& request : mode_.requests) {
      if (!request.subject) AppendRequest(request);
    }
    html_.Close("details");
  }

  void AppendRequest(const RequestJudgement& request) {
    const auto found = cells_.find(&request);
    if (request.verdict == Verdict::kFail && request.subject && !*any_open_) {
      *any_open_ = true;
      html_.Open("details", {{"class", "request"}, {"open", ""}});
    } else {
      html_.Open("details", {{"class", "request"}});
    }
    html_.Open("summary");
    AppendBadge(request.verdict, &html_);
    html_.Element("span", {{"class", "id"}}, report_.plan.requests[request.request].id);
    if (found != cells_.end()) AppendBar(*found->second.second, &html_);
    html_.Element("span", {{"class", "counts"}}, CountsOf(request));
    if (request.verdict == Verdict::kFail) {
      html_.Element("span", {{"class", "short"}}, SummaryOfFailure(request));
    }
    html_.Close("summary");
    AppendWhy(request);
    if (found != cells_.end()) {
      if (request.identity == TokenIdentity::kIds) {  // The picture's columns are tokens.
        const std::string number = fmt::format("{}", found->second.first);
        html_.Element("div", {{"class", "picture"}, {"data-cell", number}}, "");
      }
      AppendVariants(report_, *found->second.second, &html_);
    }
    html_.Close("details");
  }

  void AppendWhy(const RequestJudgement& request) {
    if (request.verdict != Verdict::kFail) {
      AppendList(request.reasons);
      return;
    }
    html_.Open("dl", {{"class", "facts failure"}});
    AppendLabelled(RenderFailure(report_, request), &html_);
    html_.Close("dl");
  }

  const Report& report_;
  const ModeJudgement& mode_;
  const Cells& cells_;
  bool* const any_open_;
  HtmlText& html_;
};

}  // namespace

void AppendRequests(const Report& report, const std::vector<HtmlCell>& cells, HtmlText* html) {
  Cells by_request;
  for (size_t i = 0; i < cells.size(); ++i) by_request[cells[i].judgement] = {i, &cells[i]};
  bool any_open = false;
  for (const ModeJudgement& mode : report.judgement.modes) {
    ModeSection(report, mode, by_request, &any_open, html).Append();
  }
}

}  // namespace detcheck
