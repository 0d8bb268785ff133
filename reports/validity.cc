#include "reports/validity.h"

#include <fmt/format.h>

#include "reports/uniqueness.h"

namespace detcheck {

ValidityCounts CountValidity(const std::vector<Sample>& samples, const TextFindings& findings) {
  ValidityCounts counts;
  for (const Sample& sample : samples) {
    const TextFinding* finding = FindingOf(sample, findings);
    if (finding == nullptr) continue;
    switch (finding->validity) {
      case Validity::kValid:
        ++counts.num_valid;
        break;
      case Validity::kInvalid:
        ++counts.num_invalid;
        break;
      case Validity::kUnknown:
        ++counts.num_unknown;
        break;
    }
  }
  return counts;
}

std::string WhyNotValid(const std::vector<Sample>& samples, const TextFindings& findings,
                        Validity validity) {
  for (const Sample& sample : samples) {
    const TextFinding* finding = FindingOf(sample, findings);
    if (finding == nullptr || finding->validity != validity) continue;
    return fmt::format("{} (record {}, item {})", finding->why, sample.ref.record, sample.ref.item);
  }
  return "";
}

}  // namespace detcheck
