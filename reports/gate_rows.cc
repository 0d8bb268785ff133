#include "reports/gate_rows.h"

#include <fmt/format.h>

#include "reports/console_words.h"
#include "reports/divergence.h"

namespace detcheck {
namespace {

// Every number with all its digits, so that equal texts are equal requests.
std::string RequestDigestOf(const std::string& prompt_digest, const PlannedRequest& request) {
  const Sampling& sampling = request.sampling;
  return fmt::format("{} {} {} {:.17g} {:.17g} {} {:.17g} {}", prompt_digest,
                     request.max_new_tokens, request.ignore_eos, sampling.temperature,
                     sampling.top_p, sampling.top_k, sampling.min_p, sampling.seed);
}

// Of any answer to the request: samples of one request have one prompt, or it failed for that.
std::string PromptDigestOf(const Report& report, const RequestJudgement& judged) {
  for (const StepRecord& record : report.transcript.records) {
    const Step& step = report.plan.steps[record.step];
    if (step.mode != judged.mode) continue;
    for (size_t i = 0; i < step.items.size() && i < record.prompt_digests.size(); ++i) {
      if (step.items[i].request == judged.request) return record.prompt_digests[i];
    }
  }
  return "";
}

std::string TokenInWords(const std::optional<TokenId>& token) {
  return token ? fmt::format("{}", *token) : "no more tokens";
}

}  // namespace

Sample SampleAt(const Report& report, const SampleRef& ref) {
  Sample sample;
  sample.ref = ref;
  sample.record = &report.transcript.records[ref.record];
  sample.step = &report.plan.steps[sample.record->step];
  sample.item = &sample.step->items[ref.item];
  sample.answer = &sample.record->completions[ref.item];
  sample.counts = true;
  return sample;
}

std::vector<ReportRow> RowsOf(const Report& report) {
  std::vector<ReportRow> rows;
  for (const ModeJudgement& mode : report.judgement.modes) {
    for (const RequestJudgement& judged : mode.requests) {
      const PlannedRequest& request = report.plan.requests[judged.request];
      ReportRow row;
      row.mode = &mode;
      row.judged = &judged;
      row.id = Printable(request.id);
      if (judged.reference) {
        row.reference = SampleAt(report, *judged.reference);
        row.prompt_digest = row.reference->PromptDigest();
      } else {
        row.prompt_digest = PromptDigestOf(report, judged);
      }
      if (!row.prompt_digest.empty()) row.digest = RequestDigestOf(row.prompt_digest, request);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string DifferenceInWords(const Report& expected_report, const Sample& expected,
                              const Sample& actual, bool with_logprobs) {
  const PlannedRequest& request = expected_report.plan.requests[expected.item->request];
  const Divergence divergence = Compare(expected, actual, PromptLen(request));
  if (divergence.index || divergence.text_offset) {
    std::string words =
        divergence.text_offset
            ? fmt::format("texts differ, first at byte {}", *divergence.text_offset)
            : fmt::format("tokens differ, first at output position {} (absolute {}): {}, not {}",
                          *divergence.index, divergence.absolute_position.value_or(0),
                          TokenInWords(divergence.actual_token),
                          TokenInWords(divergence.expected_token));
    if (divergence.first_logprob_index) {
      words += fmt::format("; logprobs first at {}", *divergence.first_logprob_index);
    }
    return words;
  }
  if (!with_logprobs || !divergence.first_logprob_index) return "";
  return fmt::format("logprobs differ, first at output position {}, by up to {:.6g}",
                     *divergence.first_logprob_index,
                     divergence.max_logprob_difference.value_or(0.0));
}

std::string ValueOf(const Manifest& manifest, const std::string& name) {
  for (const ManifestField& field : manifest) {
    if (field.name == name) return field.value;
  }
  return "";
}

}  // namespace detcheck
