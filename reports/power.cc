#include "reports/power.h"

#include <algorithm>

#include "reports/token_identity.h"
#include "reports/validity.h"

namespace detcheck {

std::optional<std::string> LacksPower(const RequestSamples& samples, CriterionKind criterion,
                                      const TextFindings& texts) {
  const auto& all = samples.samples;
  const TokenIdentity identity = IdentityOf(all);
  auto num_compared = std::count_if(all.begin(), all.end(), [&](const Sample& sample) {
    return OutputBytes(*sample.answer, identity).has_value();
  });
  if (criterion == CriterionKind::kTokenIds && identity == TokenIdentity::kText) {
    return "the criterion is token_ids, and the target gave none";
  }
  if (criterion == CriterionKind::kText || IsOfSingleTexts(criterion)) {
    num_compared = std::count_if(all.begin(), all.end(), [](const Sample& sample) {
      return sample.answer->text && !sample.IsPrefix();
    });
    if (num_compared == 0 && !all.empty()) {
      return criterion == CriterionKind::kText
                 ? "the criterion is text, and the target gave none"
                 : "the criterion is of texts, and the target gave none";
    }
  }
  if (IsOfSingleTexts(criterion) && num_compared > 0) {
    const ValidityCounts counts = CountValidity(all, texts);
    num_compared = counts.num_valid + counts.num_invalid;
    if (num_compared == 0) return "no text could be judged";
  }
  if (num_compared == 0) return "no sample";
  if (num_compared == 1) return "one sample: nothing to compare it with";
  return std::nullopt;
}

}  // namespace detcheck
