#pragma once

// Internal to the HTML page.

#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/samples.h"

namespace detcheck {

/// Samples that gave the same tokens and, where both have them, the same logprobs.
struct HtmlVariant {
  int output = 0;            ///< Class of the output.
  int trace = -1;            ///< Class of the trace; -1: without logprobs.
  std::vector<int> samples;  ///< Indices into HtmlCell::samples, in transcript order.
  int first = 0;             ///< Of these, the first that is whole, if any.
  /// How `first` differs from the reference, with its cause where the judgement has one, else
  /// kNone; absent for the reference's own.
  std::optional<Divergence> divergence;
};

/// One request in one mode, with its samples grouped by what they answered.
struct HtmlCell {
  const RequestJudgement* judgement = nullptr;
  std::vector<Sample> samples;
  int reference = 0;                  ///< Index into `samples`.
  std::vector<HtmlVariant> variants;  ///< The reference's first, then by output, then by trace.
};

/// The cells of every request that has a reference, in the order of the judgement. They point into
/// `report`, which must outlive them.
std::vector<HtmlCell> CollectCells(const Report& report);

/// "A" for the output of the reference, "B", …, "Z", "AA": as people name distinct outputs; with
/// the number of the trace where an output has several: "A1", "A2".
std::vector<std::string> NamesOfVariants(const HtmlCell& cell);

}  // namespace detcheck
