#include "reports/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "reports/console_words.h"
#include "reports/diff_rows.h"

namespace detcheck {
namespace {

// Of the harness: what answers can depend on where the engine is part of it, and else only what was
// asked for.
constexpr std::array<std::string_view, 11> kOfTheEngine = {"detcheck.version",
                                                           "detcheck.git_revision",
                                                           "detcheck.git_dirty",
                                                           "compiler",
                                                           "build_type",
                                                           "libc",
                                                           "machine",
                                                           "cpu.model",
                                                           "cpu.flags",
                                                           "library.loaded",
                                                           "arguments"};

bool CanExplain(const Report& report, const std::string& harness_field) {
  if (ValueOf(report.subject, "engine.name").starts_with("detcheck-")) {
    if (harness_field.starts_with("env.")) return true;
    return std::find(kOfTheEngine.begin(), kOfTheEngine.end(), harness_field) != kOfTheEngine.end();
  }
  return harness_field == "arguments";
}

// In the order of A, then what only B has.
std::vector<FieldChange> Changes(const Manifest& a, const Manifest& b) {
  std::vector<FieldChange> changes;
  std::set<std::string> seen;
  for (const Manifest* manifest : {&a, &b}) {
    for (const ManifestField& field : *manifest) {
      if (!seen.insert(field.name).second) continue;
      FieldChange change{field.name, ValueOf(a, field.name), ValueOf(b, field.name)};
      if (change.before != change.after) changes.push_back(std::move(change));
    }
  }
  return changes;
}

// A schema's file may change under its name.
std::string CriterionInWords(const Criterion& criterion) {
  const std::string words = ToString(criterion);
  if (criterion.kind != CriterionKind::kJsonSchema) return words;
  return fmt::format("{} ({:.12})", words, CriterionDigest(criterion));
}

// Its files may change under its name.
std::string ProtocolInWords(const std::optional<Protocol>& protocol) {
  if (!protocol) return "none";
  return fmt::format("{} ({:.12})", protocol->name, ProtocolDigest(*protocol));
}

std::string ScopeInWords(const std::vector<ScopeWord>& required) {
  std::string words;
  for (const ScopeWord word : required) words += (words.empty() ? "" : ",") + ToString(word);
  return words.empty() ? "none" : words;
}

// What the answers were to show, and by what they were judged.
void AddChangesOfWhatWasAsked(const Report& a, const Report& b, ReportDiff* diff) {
  for (FieldChange change : {
           FieldChange{"protocol", ProtocolInWords(a.protocol), ProtocolInWords(b.protocol)},
           FieldChange{"criterion", CriterionInWords(a.plan.criterion),
                       CriterionInWords(b.plan.criterion)},
           FieldChange{"required scope", ScopeInWords(a.plan.required_scope),
                       ScopeInWords(b.plan.required_scope)},
       }) {
    if (change.before != change.after) diff->can_explain.push_back(std::move(change));
  }
}

void AddManifestChanges(const Report& a, const Report& b, ReportDiff* diff) {
  diff->can_explain = Changes(a.subject, b.subject);
  for (FieldChange& change : Changes(a.harness, b.harness)) {
    auto& list = CanExplain(a, change.name) ? diff->can_explain : diff->informational;
    list.push_back(std::move(change));
  }
}

// Prompts of subjects, with the name of one of them.
std::map<std::string, std::string> PromptsOf(const std::vector<ReportRow>& rows) {
  std::map<std::string, std::string> prompts;
  for (const ReportRow& row : rows) {
    if (row.judged->subject && !row.prompt_digest.empty()) {
      prompts.emplace(row.prompt_digest, row.id);
    }
  }
  return prompts;
}

void ComparePrompts(const std::vector<ReportRow>& a, const std::vector<ReportRow>& b,
                    ReportDiff* diff) {
  const std::map<std::string, std::string> of_a = PromptsOf(a);
  const std::map<std::string, std::string> of_b = PromptsOf(b);
  for (const auto& [digest, id] : of_a) {
    (of_b.contains(digest) ? diff->in_both : diff->only_in_a).push_back(id);
  }
  for (const auto& [digest, id] : of_b) {
    if (!of_a.contains(digest)) diff->only_in_b.push_back(id);
  }
}

// A report's rows with what was answered, by mode and request.
class Rows {
 public:
  using Key = std::pair<std::string, std::string>;

  explicit Rows(const Report& report) : report_(report), rows_(RowsOf(report)) {
    for (const ModeJudgement& mode : report.judgement.modes) {
      for (RequestSamples& samples :
           CollectSamples(report.plan, report.transcript, mode.mode, mode.replica)) {
        const int request = samples.request;
        samples_[{&mode, request}] = std::move(samples);
      }
    }
    for (const ReportRow& row : rows_) by_key_.emplace(KeyOf(row), &row);
  }

  // Requests to which nothing was answered have their names alone.
  static Key KeyOf(const ReportRow& row) {
    // The first replica stands for the only target of a report without replicas.
    const bool is_first = row.mode->replica == 0;
    return {is_first ? ToString(row.mode->mode) : SlugOfMode(*row.mode),
            row.digest.empty() ? row.id : row.digest};
  }

  const std::vector<ReportRow>& rows() const { return rows_; }

  const ReportRow* Find(const Key& key) const {
    const auto it = by_key_.find(key);
    return it == by_key_.end() ? nullptr : it->second;
  }

  const PlannedRequest& RequestOf(const ReportRow& row) const {
    return report_.plan.requests[row.judged->request];
  }

  RowAnswers AnswersOf(const ReportRow& row) const {
    const auto it = samples_.find({row.mode, row.judged->request});
    return {report_, row, it == samples_.end() ? nullptr : &it->second};
  }

 private:
  const Report& report_;
  std::vector<ReportRow> rows_;
  std::map<std::pair<const ModeJudgement*, int>, RequestSamples> samples_;
  std::map<Key, const ReportRow*> by_key_;
};

using Pairs = std::map<const ReportRow*, const ReportRow*>;

bool IsSamePrompt(const ReportRow& a, const ReportRow& b) {
  return Rows::KeyOf(a).first == Rows::KeyOf(b).first && !a.prompt_digest.empty() &&
         a.prompt_digest == b.prompt_digest;
}

// Takes for each row that is left in A one that is left in B with the same prompt: of the same
// name, where `by_name`.
void PairChanged(bool by_name, std::vector<const ReportRow*>* left_a,
                 std::vector<const ReportRow*>* left_b, Pairs* pairs) {
  std::erase_if(*left_a, [&](const ReportRow* row) {
    const auto it = std::find_if(left_b->begin(), left_b->end(), [&](const ReportRow* other) {
      return IsSamePrompt(*row, *other) && (!by_name || row->id == other->id);
    });
    if (it == left_b->end()) return false;
    pairs->emplace(row, *it);
    left_b->erase(it);
    return true;
  });
}

std::vector<const ReportRow*> MissingIn(const Rows& other, const Rows& rows) {
  std::vector<const ReportRow*> missing;
  for (const ReportRow& row : rows.rows()) {
    if (other.Find(Rows::KeyOf(row)) == nullptr) missing.push_back(&row);
  }
  return missing;
}

void CompareRows(const Rows& a, const Rows& b, bool compare_changed_requests, ReportDiff* diff) {
  std::vector<const ReportRow*> left_a = MissingIn(b, a);
  std::vector<const ReportRow*> left_b = MissingIn(a, b);
  Pairs changed;
  PairChanged(true, &left_a, &left_b, &changed);
  PairChanged(false, &left_a, &left_b, &changed);
  for (const ReportRow& row : a.rows()) {
    RowChange change{NameOfMode(*row.mode), row.id, {}};
    const ReportRow* other = b.Find(Rows::KeyOf(row));
    const auto pair = changed.find(&row);
    if (pair != changed.end()) {
      other = pair->second;
      change.lines.push_back(RequestChangeInWords(a.RequestOf(row), b.RequestOf(*other)));
    }
    if (other == nullptr) {
      change.lines.emplace_back("gone: no such request now");
    } else if (pair != changed.end() && !compare_changed_requests) {
      ++diff->num_not_compared;
      change.lines.emplace_back("answers not compared (--compare-changed-requests does)");
    } else {
      ++diff->num_compared;
      for (std::string& line : ChangesInWords(a.AnswersOf(row), b.AnswersOf(*other))) {
        change.lines.push_back(std::move(line));
      }
    }
    if (!change.lines.empty()) diff->rows.push_back(std::move(change));
  }
  for (const ReportRow* row : left_b) {
    diff->rows.push_back({NameOfMode(*row->mode), row->id, {"new: no such request before"}});
  }
}

std::string Quoted(const std::string& value) {
  return value.empty() ? "not known" : '\'' + Printable(value) + '\'';
}

std::string FieldsInWords(std::string_view heading, const std::vector<FieldChange>& changes) {
  if (changes.empty()) return "";
  std::string text = fmt::format("{}\n", heading);
  for (const FieldChange& change : changes) {
    text += fmt::format("  {}: {} -> {}\n", Printable(change.name), Quoted(change.before),
                        Quoted(change.after));
  }
  return text;
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMaxListed = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
  return text;
}

std::string OnlyInOne(const ReportDiff& diff) {
  std::string text;
  if (!diff.only_in_a.empty()) text += "only in the first " + Listed(diff.only_in_a);
  if (!diff.only_in_a.empty() && !diff.only_in_b.empty()) text += "; ";
  if (!diff.only_in_b.empty()) text += "only in the second " + Listed(diff.only_in_b);
  return text;
}

}  // namespace

bool ReportDiff::Differ() const {
  return !SamePrompts() || !rows.empty() || verdict.before != verdict.after;
}

ReportDiff DiffReports(const Report& a, const Report& b, bool compare_changed_requests) {
  ReportDiff diff;
  AddManifestChanges(a, b, &diff);
  AddChangesOfWhatWasAsked(a, b, &diff);
  const Rows rows_a(a);
  const Rows rows_b(b);
  ComparePrompts(rows_a.rows(), rows_b.rows(), &diff);
  CompareRows(rows_a, rows_b, compare_changed_requests, &diff);
  diff.verdict = {"verdict", ToString(a.judgement.verdict), ToString(b.judgement.verdict)};
  return diff;
}

std::string DifferentPromptsInWords(const ReportDiff& diff) {
  const std::string text = "reports of different prompts: " + OnlyInOne(diff) + "; ";
  if (diff.in_both.empty()) return text + "none is in both";
  return text + fmt::format("with --allow-different-prompts the {} in both could be compared: {}",
                            Several(diff.in_both.size(), "prompt"), Listed(diff.in_both));
}

std::string RenderDiff(const ReportDiff& diff) {
  std::string text = FieldsInWords("Changes that can explain others", diff.can_explain) +
                     FieldsInWords("Informational changes", diff.informational);
  if (!diff.SamePrompts()) text += "Different prompts: " + OnlyInOne(diff) + '\n';
  for (const RowChange& row : diff.rows) {
    text += fmt::format("{}: {}\n", row.mode, row.id);
    for (const std::string& line : row.lines) text += "  " + line + '\n';
  }
  const FieldChange& verdict = diff.verdict;
  text += verdict.before == verdict.after
              ? fmt::format("Verdict: {} in both\n", verdict.after)
              : fmt::format("Verdict: {} -> {}\n", verdict.before, verdict.after);
  text += fmt::format("{}: {} compared, {} changed", diff.Differ() ? "Differ" : "Equal",
                      Several(static_cast<size_t>(diff.num_compared), "request"), diff.rows.size());
  if (diff.num_not_compared > 0) {
    text += fmt::format(", {} with other sampling or limits not compared", diff.num_not_compared);
  }
  return text + '\n';
}

}  // namespace detcheck
