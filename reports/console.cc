#include "reports/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "reports/console_failure.h"
#include "reports/console_words.h"
#include "reports/scope_text.h"

namespace detcheck {
namespace {

/// Fixtures of one mode that are listed for each verdict but a failure; the others are counted.
constexpr int kMaxListed = 16;
/// Fixtures of one mode that are shown whole for each verdict; the others get one line.
constexpr int kMaxWhole = 3;
/// Reasons that are printed of one mode or one fixture.
constexpr size_t kMaxReasons = 4;
constexpr size_t kMaxIdWidth = 32;
constexpr size_t kVerdictWidth = 12;

std::string Reasons(const std::vector<std::string>& reasons, const char* indent) {
  std::string text;
  for (size_t i = 0; i < std::min(reasons.size(), kMaxReasons); ++i) {
    text += fmt::format("{}{}\n", indent, Printable(reasons[i]));
  }
  if (reasons.size() > kMaxReasons) {
    text += fmt::format("{}and {} more\n", indent, reasons.size() - kMaxReasons);
  }
  return text;
}

// Fixtures that are counted, not listed.
struct Folded {
  size_t count = 0;
  size_t num_samples = 0;
  bool all_equal = true;

  void Add(const RequestJudgement& request) {
    ++count;
    num_samples += static_cast<size_t>(request.total_samples);
    all_equal = all_equal && request.unique_samples == 1;
  }
};

// One mode: its fixtures, then its neighbours in one line.
class ModeView {
 public:
  ModeView(const Report& report, const ModeJudgement& mode, const Paint& paint)
      : report_(report), mode_(mode), paint_(paint) {
    for (const RequestJudgement& request : mode.requests) {
      if (request.subject) id_width_ = std::max(id_width_, IdOf(request).size());
    }
    id_width_ = std::min(id_width_, kMaxIdWidth);
  }

  std::string Render() const {
    std::string text =
        fmt::format("{} {}{}\n", paint_.Bold(fmt::format("{:<13}", NameOfMode(mode_))),
                    paint_.Of(mode_.verdict), mode_.decides ? "" : " (does not decide)");
    if (mode_.verdict != Verdict::kPass) text += Reasons(mode_.reasons, "  ");
    std::map<Verdict, int> num_seen;
    std::map<Verdict, Folded> folded;
    for (const RequestJudgement& request : mode_.requests) {
      if (!request.subject) continue;
      const int place = ++num_seen[request.verdict];
      if (request.verdict == Verdict::kFail || place <= kMaxListed) {
        text += place <= kMaxWhole ? Whole(request) : OneLiner(request);
      } else {
        folded[request.verdict].Add(request);
      }
    }
    for (const auto& [verdict, requests] : folded) {
      text += fmt::format("  and {} more: {}; {}{}\n", requests.count, paint_.Of(verdict),
                          Several(requests.num_samples, "sample"),
                          requests.all_equal ? ", each fixture with Unique samples: 1" : "");
    }
    return text + Neighbours();
  }

 private:
  std::string IdOf(const RequestJudgement& request) const {
    return Printable(report_.plan.requests[request.request].id);
  }

  std::string Head(const RequestJudgement& request, size_t verdict_width) const {
    return fmt::format("  {:<{}} {}", IdOf(request), id_width_,
                       paint_.Of(request.verdict, verdict_width));
  }

  std::string OneLiner(const RequestJudgement& request) const {
    std::string text = fmt::format("{} {}", Head(request, kVerdictWidth), CountsOf(request));
    if (request.verdict == Verdict::kFail) text += "; " + SummaryOfFailure(request);
    return text + '\n';
  }

  // Ends with the counts.
  std::string Whole(const RequestJudgement& request) const {
    if (request.verdict == Verdict::kPass) return OneLiner(request);
    const std::string why = request.verdict == Verdict::kFail ? RenderFailure(report_, request)
                                                              : Reasons(request.reasons, "    ");
    return fmt::format("{}\n{}    {}\n", Head(request, 0), why, CountsOf(request));
  }

  std::string Neighbours() const {
    std::string failures;
    size_t num_neighbours = 0;
    size_t num_failed = 0;
    int num_samples = 0;
    for (const RequestJudgement& request : mode_.requests) {
      if (request.subject) continue;
      ++num_neighbours;
      num_samples += request.total_samples;
      if (request.verdict != Verdict::kFail) continue;
      // One neighbour is shown whole; of the others the count says enough.
      if (++num_failed == 1) failures = Whole(request);
    }
    if (num_neighbours == 0) return "";
    const std::string line =
        fmt::format("  company: {}, {}, ", Several(num_neighbours, "neighbour"),
                    Several(static_cast<size_t>(num_samples), "sample"));
    if (num_failed == 0) return line + "none differs from its own repeats\n";
    return fmt::format("{}{} with divergences{}\n", line, num_failed,
                       num_failed > 1 ? ", the first of them:" : ":") +
           failures;
  }

  const Report& report_;
  const ModeJudgement& mode_;
  const Paint& paint_;
  size_t id_width_ = 0;
};

// What was tested one line each, then what was not.
std::string RenderScope(const Report& report, const Paint& paint) {
  const Scope& scope = report.scope;
  std::string text = paint.Bold("Scope") + "\n";
  for (const WordScope& word : scope.words) {
    if (word.n > 0) text += fmt::format("  {}\n", Printable(WordInWords(word)));
  }
  const std::vector<std::string> untested = UntestedWords(scope);
  if (!untested.empty()) {
    text +=
        fmt::format("  not tested: {}\n", Printable(fmt::format("{}", fmt::join(untested, "; "))));
  }
  for (const std::string& what : scope.not_tested) {
    text += fmt::format("  not tested: {}\n", Printable(what));
  }
  if (!scope.voided.empty()) {
    const VoidedAttempt& first = scope.voided.front();
    text += fmt::format("  {} not counted, the first: step {} '{}', {}\n",
                        Several(scope.voided.size(), "attempt"), first.step,
                        Printable(report.plan.steps[first.step].label), Printable(first.why));
  }
  for (const std::string& note : scope.notes) text += fmt::format("  {}\n", Printable(note));
  return text + fmt::format("  holds for {}, and no other\n",
                            scope.holds_for.empty() ? "the target of this run"
                                                    : Printable(FactsInWords(scope.holds_for)));
}

std::string Meaning(const Judgement& judgement) {
  switch (judgement.verdict) {
    case Verdict::kPass:
      return "no divergence found within the scope";
    case Verdict::kFail:
      return FoundNondeterminism(judgement) ? "nondeterminism found"
                                            : "equal answers that do not meet the criterion";
    case Verdict::kInconclusive:
      return "not shown either way";
    case Verdict::kUnsupported:
      return "the target cannot do what was asked";
    case Verdict::kError:
      return "the run could not be carried out";
  }
  return "";
}

}  // namespace

std::string RenderConsole(const Report& report, bool color) {
  const Paint paint(color);
  std::string text;
  for (const ModeJudgement& mode : report.judgement.modes) {
    text += ModeView(report, mode, paint).Render();
  }
  text += RenderScope(report, paint);
  if (report.support) {
    text += fmt::format("Documentation: {}\n", Printable(SupportInWords(*report.support)));
  }
  text += Reasons(report.judgement.reasons, "  ");
  text += fmt::format("{} {}: {}\n", paint.Bold("Verdict:"), paint.Of(report.judgement.verdict),
                      Meaning(report.judgement));
  return text;
}

}  // namespace detcheck
