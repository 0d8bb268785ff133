#include "reports/diff_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <set>

#include "engine/base/sha256.h"

namespace detcheck {
namespace {

void Update(uint64_t value, Sha256* sha256) {
  std::array<char, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  sha256->Update({bytes.data(), bytes.size()});
}

std::string OutputDigest(const Completion& answer) {
  Sha256 sha256;
  Update(static_cast<uint64_t>(answer.finish_reason), &sha256);
  for (const TokenId id : answer.token_ids) Update(static_cast<uint64_t>(id), &sha256);
  return sha256.HexDigest();
}

std::string TraceDigest(const Completion& answer) {
  Sha256 sha256;
  for (size_t i = 0; i < answer.token_ids.size(); ++i) {
    Update(static_cast<uint64_t>(answer.token_ids[i]), &sha256);
    Update(std::bit_cast<uint64_t>(answer.logprobs[i].logprob), &sha256);
  }
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
  std::set<std::string> traces;
  for (const Sample& sample : samples->samples) {
    if (sample.IsPrefix()) continue;
    outputs.insert(OutputDigest(*sample.answer));
    if (sample.HasTrace()) traces.insert(TraceDigest(*sample.answer));
  }
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
  if (before.reference && after.reference) {
    const std::string words =
        DifferenceInWords(a.report(), *before.reference, *after.reference, true);
    if (!words.empty()) lines.push_back("reference: " + words);
  } else if (before.reference || after.reference) {
    lines.push_back(before.reference ? "reference: gone" : "reference: new");
  }
  if (a.outputs() != b.outputs()) {
    lines.push_back(SetsInWords("samples", a.outputs(), b.outputs()));
  }
  if (!a.traces().empty() && !b.traces().empty() && a.traces() != b.traces()) {
    lines.push_back(SetsInWords("logprob traces", a.traces(), b.traces()));
  } else if (a.traces().empty() != b.traces().empty()) {
    lines.push_back(a.traces().empty() ? "logprobs: only now" : "logprobs: only before");
  }
  return lines;
}

}  // namespace detcheck
