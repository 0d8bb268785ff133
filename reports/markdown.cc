#include "reports/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/console_words.h"
#include "reports/scope_text.h"

namespace detcheck {
namespace {

constexpr size_t kMaxPhraseBytes = 1000;
constexpr size_t kMaxBlockBytes = 16 << 10;
// What is kept free for the sentence about what was left out.
constexpr size_t kReservedBytes = 256;

// At most `max_bytes` of it, whole characters.
std::string Cut(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

// Foreign text inside a line or a table's cell. Characters that could begin markup, a link, a
// mention or a cell are numbers, which cannot.
std::string Phrase(std::string_view text) {
  constexpr std::string_view kKept = " -+=%?/;,";
  std::string phrase;
  for (const char c : Cut(Printable(text), kMaxPhraseBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
                          ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') ||
                          kKept.find(c) != std::string_view::npos;
    phrase += is_plain ? std::string(1, c) : fmt::format("&#{};", byte);
  }
  return "<code>" + phrase + "</code>";
}

// Lines of the console view. A line of them begins with a word of ours behind four spaces, so that
// none can end the block.
std::string Block(std::string_view lines) {
  std::string block = "```text\n" + Cut(lines, kMaxBlockBytes);
  if (block.back() != '\n') block += '\n';
  return block + "```\n\n";
}

// Takes pieces, each whole or not at all.
class Summary {
 public:
  explicit Summary(size_t max_bytes) : max_bytes_(max_bytes - kReservedBytes) {}

  void Add(std::string_view piece) {
    if (text_.size() + piece.size() <= max_bytes_) {
      text_ += piece;
    } else {
      ++num_left_out_;
    }
  }

  std::string Take() {
    if (num_left_out_ > 0) {
      text_ += fmt::format("\n{} {} left out: a job summary holds no more.\n", num_left_out_,
                           num_left_out_ == 1 ? "entry is" : "entries are");
    }
    return std::move(text_);
  }

 private:
  size_t max_bytes_;
  size_t num_left_out_ = 0;
  std::string text_;
};

struct Tally {
  int num_fixtures = 0;
  int num_failed = 0;
  int num_samples = 0;
};

Tally TallyOf(const ModeJudgement& mode) {
  Tally tally;
  for (const RequestJudgement& request : mode.requests) {
    tally.num_samples += request.total_samples;
    if (!request.subject) continue;
    ++tally.num_fixtures;
    if (request.verdict == Verdict::kFail) ++tally.num_failed;
  }
  return tally;
}

void AddModes(const Report& report, Summary* summary) {
  summary->Add(
      "| mode | verdict | fixtures diverged | samples | distinct batches | formed sizes |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  for (const ModeJudgement& mode : report.judgement.modes) {
    const Tally tally = TallyOf(mode);
    summary->Add(fmt::format(
        "| {} | **{}**{} | {} of {} | {} | {} | {} |\n", NameOfMode(mode), ToString(mode.verdict),
        mode.decides ? "" : " (does not decide)", tally.num_failed, tally.num_fixtures,
        tally.num_samples, mode.num_batches,
        mode.across_replicas        ? "–"
        : mode.formed_sizes.empty() ? "not known"
                                    : fmt::format("{}", fmt::join(mode.formed_sizes, ", "))));
  }
  summary->Add("\n");
}

void AddScope(const Report& report, Summary* summary) {
  summary->Add("### Scope\n\n");
  for (const auto& [name, text] : ScopeParts(report.scope)) {
    summary->Add(fmt::format("- {}: {}\n", name, Phrase(text)));
  }
  if (report.support) {
    summary->Add(fmt::format("- documentation: {}\n", Phrase(SupportInWords(*report.support))));
  }
  summary->Add("\n| tested, and no other | value |\n| --- | --- |\n");
  for (const ManifestField& field : report.subject) {
    if (field.value.empty()) continue;
    summary->Add(fmt::format("| {} | {} |\n", Phrase(field.name), Phrase(field.value)));
  }
  summary->Add("\n");
}

void AddCases(const std::vector<GateSuite>& suites, Summary* summary) {
  for (const Verdict verdict :
       {Verdict::kFail, Verdict::kError, Verdict::kInconclusive, Verdict::kUnsupported}) {
    for (const GateSuite& suite : suites) {
      for (const GateCase& one : suite.cases) {
        if (one.verdict != verdict) continue;
        std::string piece = fmt::format("**{}**: {}, {}: {}\n\n", VerdictInWords(one),
                                        Phrase(suite.name), Phrase(one.name), Phrase(one.message));
        if (verdict == Verdict::kFail && !one.detail.empty()) piece += Block(one.detail);
        summary->Add(piece);
      }
    }
  }
}

}  // namespace

std::string RenderMarkdown(const Report& report, const std::string& label, size_t max_bytes) {
  // The scope has a quarter of the room at most, so that it is there whatever failed.
  Summary scope(max_bytes / 4);
  AddScope(report, &scope);
  const std::string scope_text = scope.Take();
  Summary summary(max_bytes - scope_text.size());
  summary.Add(fmt::format("## detcheck{}: {}\n\n", label.empty() ? "" : " " + Phrase(label),
                          ToString(report.judgement.verdict)));
  AddModes(report, &summary);
  AddCases(SuitesOf(report, label), &summary);
  return summary.Take() + scope_text;
}

std::string RenderMarkdown(std::string_view heading, const std::vector<GateSuite>& suites,
                           size_t max_bytes) {
  Summary summary(max_bytes);
  summary.Add(fmt::format("## {}\n\n", heading));
  AddCases(suites, &summary);
  return summary.Take();
}

}  // namespace detcheck
