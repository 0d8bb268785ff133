#include "reports/power.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/token_identity.h"
#include "reports/validity.h"

namespace detcheck {
namespace {

// Whether the criterion looks at the texts of whole answers.
bool IsOfTexts(CriterionKind criterion) {
  return criterion == CriterionKind::kText || IsOfSingleTexts(criterion);
}

bool IsEmpty(const Sample& sample) {
  return sample.answer->token_ids.empty() && sample.answer->text.value_or("").empty();
}

// Answers that have nothing of what the others are compared by.
std::optional<std::string> NotCompared(const std::vector<Sample>& all, TokenIdentity identity,
                                       CriterionKind criterion) {
  const bool by_text = IsOfTexts(criterion) || identity == TokenIdentity::kText;
  const auto num_without = std::count_if(all.begin(), all.end(), [&](const Sample& sample) {
    if (IsOfTexts(criterion)) return !sample.IsPrefix() && !sample.answer->text;
    return !OutputBytes(*sample.answer, identity).has_value();
  });
  if (num_without == 0) return std::nullopt;
  return fmt::format("{} of {} answers came without {}, and were not compared", num_without,
                     all.size(), by_text ? "text" : "token IDs");
}

}  // namespace

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
  if (IsOfTexts(criterion)) {
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
  if (std::all_of(all.begin(), all.end(), IsEmpty)) return "every answer is empty";
  return NotCompared(all, identity, criterion);
}

}  // namespace detcheck
