#pragma once

// Internal to the console view.

#include <string>
#include <string_view>

#include "reports/report.h"

namespace detcheck {

/// Terminal colours, or none.
class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}

  std::string Bold(std::string_view text) const { return In("1", text); }
  /// The verdict's word in its colour, a failure in capitals; padded with spaces to `width`.
  std::string Of(Verdict verdict, size_t width = 0) const;

 private:
  std::string In(const char* code, std::string_view text) const;

  bool color_;
};

/// What a target or a file said, safe on a terminal: one line of UTF-8 without control characters.
std::string Printable(std::string_view text);

/// What the mode demands, in one sentence.
std::string RequirementOf(Mode mode, const RequestJudgement& request);

/// Likewise what is demanded of all its requests.
std::string RequirementOf(const ModeJudgement& mode);

/// Under what conditions the sample was answered: "alone, cold"; "batch of 8, item 3".
std::string WhereItRan(const Report& report, const SampleRef& ref);

/// "Total samples: 50, Unique samples: 2, Unique logprob traces: 3".
std::string CountsOf(const RequestJudgement& request);

/// "40 fixtures", "1 fixture".
std::string Several(size_t count, std::string_view noun);

}  // namespace detcheck
