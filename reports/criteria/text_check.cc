#include "reports/criteria/text_check.h"

#include "reports/criteria/command_check.h"
#include "reports/criteria/regex_check.h"
#include "reports/criteria/schema_check.h"

namespace detcheck {

std::unique_ptr<TextCheck> MakeTextCheck(const Criterion& criterion,
                                         const std::atomic<bool>& stop) {
  switch (criterion.kind) {
    case CriterionKind::kBitwise:
    case CriterionKind::kTokenIds:
    case CriterionKind::kText:
      return nullptr;
    case CriterionKind::kJsonSchema:
      return MakeSchemaCheck(criterion.schema, criterion.argument);
    case CriterionKind::kRegex:
      return MakeRegexCheck(criterion.argument);
    case CriterionKind::kCommand:
      return MakeCommandCheck(criterion.argument, kCommandDeadlineS, stop);
  }
  return nullptr;
}

TextFindings CheckTexts(const Plan& plan, const Transcript& transcript, TextCheck* check) {
  TextFindings findings;
  if (check == nullptr) return findings;
  for (const StepRecord& record : transcript.records) {
    if (!IsJudged(plan.steps[record.step])) continue;
    for (const Completion& answer : record.completions) {
      const bool is_whole = answer.finish_reason == FinishReason::kStop ||
                            answer.finish_reason == FinishReason::kLength;
      if (!is_whole || !answer.text || findings.contains(*answer.text)) continue;
      findings.emplace(*answer.text, check->Check(*answer.text));
    }
  }
  return findings;
}

}  // namespace detcheck
