#pragma once

// Internal: the parts of a report that do not change from one run of the same thing to the next.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.h"

namespace detcheck {

inline constexpr std::string_view kReportSchema = "detcheck.report/1";

/// Each part as canonical JSON (RFC 8785).
class ReportContent {
 public:
  explicit ReportContent(const Report& report);

  /// Names of the parts, alphabetically.
  static const std::vector<std::string_view>& Names();

  /// Whether the part is not in every report.
  static bool MayLack(std::string_view name);
  bool Has(std::string_view name) const;

  /// Hands the JSON text of the part `name` to `take`, piece by piece.
  void Write(std::string_view name, const std::function<void(std::string_view)>& take) const;

  /// SHA-256 of the canonical JSON of an object that has the parts and nothing else.
  std::string Digest() const;

  /// Bytes of all parts together, about.
  size_t NumBytes() const;

 private:
  std::string facts_;
  std::string harness_;
  std::string judgement_;
  std::vector<std::string> logprobs_;  // Each distinct block once.
  std::vector<std::string> outputs_;   // Each distinct output once.
  std::string plan_;
  std::string protocol_;
  std::string replicas_;  // Empty: there are none.
  std::string scope_;
  std::string subject_;
  std::string support_;  // Empty: there is none.
  std::string transcript_;
};

}  // namespace detcheck
