#include "reports/diff_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "engine/base/sha256.h"

namespace detcheck {
namespace {

std::string OutputDigest(const Completion& answer, const std::string& output) {
  Sha256 sha256;
  sha256.Update(answer.finish_reason == FinishReason::kStop ? "s" : "l");
  sha256.Update(output);
  return sha256.HexDigest();
}

size_t NumShared(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> shared;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
  return shared.size();
}

std::string SetsInWords(const char* what, const std::vector<std::string>& a,
                        const std::vector<std::string>& b) {
  return fmt::format("unique {}: {} before, {} now, {} in both", what, a.size(), b.size(),
                     NumShared(a, b));
}

// Adds "name before -> after" where they are not the same.
template <typename Value>
void AddChange(const char* name, const Value& before, const Value& after, std::string* words) {
  if (before == after) return;
  *words += fmt::format("{}{} {} -> {}", words->empty() ? "" : ", ", name, before, after);
}

}  // namespace

RowAnswers::RowAnswers(const Report& report, const ReportRow& row, const RequestSamples* samples)
    : report_(&report), row_(&row) {
  if (samples == nullptr) return;
  std::set<std::string> outputs;
  std::set<std::string> texts;
  std::set<std::string> traces;
  identity_ = IdentityOf(samples->samples);
  for (const Sample& sample : samples->samples) {
    if (sample.IsPrefix()) continue;
    const Completion& answer = *sample.answer;
    const auto output = OutputBytes(answer, identity_);
    if (output) outputs.insert(OutputDigest(answer, *output));
    if (answer.text) texts.insert(OutputDigest(answer, *answer.text));
    const auto trace = TraceBytes(answer, identity_);
    if (trace) traces.insert(Sha256Hex(*trace));
  }
  texts_.assign(texts.begin(), texts.end());
  outputs_.assign(outputs.begin(), outputs.end());
  traces_.assign(traces.begin(), traces.end());
}

std::string RequestChangeInWords(const PlannedRequest& before, const PlannedRequest& after) {
  std::string words;
  AddChange("temperature", before.sampling.temperature, after.sampling.temperature, &words);
  AddChange("top_p", before.sampling.top_p, after.sampling.top_p, &words);
  AddChange("top_k", before.sampling.top_k, after.sampling.top_k, &words);
  AddChange("min_p", before.sampling.min_p, after.sampling.min_p, &words);
  AddChange("seed", before.sampling.seed, after.sampling.seed, &words);
  AddChange("max_new_tokens", before.max_new_tokens, after.max_new_tokens, &words);
  AddChange("ignore_eos", before.ignore_eos, after.ignore_eos, &words);
  return "same prompt, other sampling or limits: " + words;
}

std::vector<std::string> ChangesInWords(const RowAnswers& a, const RowAnswers& b) {
  std::vector<std::string> lines;
  const ReportRow& before = a.row();
  const ReportRow& after = b.row();
  if (before.judged->verdict != after.judged->verdict) {
    lines.push_back(fmt::format("verdict: {} -> {}", ToString(before.judged->verdict),
                                ToString(after.judged->verdict)));
  }
  const bool same_identity = a.identity() == b.identity();
  const std::vector<std::string>& outputs_a = same_identity ? a.outputs() : a.texts();
  const std::vector<std::string>& outputs_b = same_identity ? b.outputs() : b.texts();
  if (!same_identity) {
    lines.emplace_back(outputs_a.empty() || outputs_b.empty()
                           ? "token IDs in one, text alone in the other: nothing to compare by"
                           : "token IDs in one alone: compared by text");
  } else if (before.reference && after.reference) {
    const std::string words =
        DifferenceInWords(a.report(), *before.reference, *after.reference, true);
    if (!words.empty()) lines.push_back("reference: " + words);
  } else if (before.reference || after.reference) {
    lines.push_back(before.reference ? "reference: gone" : "reference: new");
  }
  if (outputs_a != outputs_b) lines.push_back(SetsInWords("samples", outputs_a, outputs_b));
  if (!same_identity) return lines;
  if (!a.traces().empty() && !b.traces().empty() && a.traces() != b.traces()) {
    lines.push_back(SetsInWords("logprob traces", a.traces(), b.traces()));
  } else if (a.traces().empty() != b.traces().empty()) {
    lines.push_back(a.traces().empty() ? "logprobs: only now" : "logprobs: only before");
  }
  return lines;
}

}  // namespace detcheck
