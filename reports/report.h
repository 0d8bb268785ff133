#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "fixtures/plan.h"
#include "fixtures/protocol.h"
#include "reports/judgement.h"
#include "reports/replica.h"
#include "reports/scope.h"
#include "reports/support.h"
#include "reports/text_findings.h"
#include "reports/transcript.h"

namespace detcheck {

/// The run itself: what changes from one run to the next even where nothing else does.
struct RunFacts {
  std::string started_utc;  ///< RFC 3339, seconds.
  double duration_s = 0.0;
  bool interrupted = false;
  int resumed_records = 0;  ///< Records taken over from an earlier transcript.
};

/// Plan + transcript + judgement + manifests + scope. One JSON file
/// (reports/schema/report-1.schema.json).
struct Report {
  RunFacts run;
  Manifest harness;
  Manifest subject;               ///< Of several replicas what they have in common (CommonSubject).
  TargetFacts facts;              ///< That the plan was made from; of several replicas CommonFacts.
  std::vector<Replica> replicas;  ///< Where several ran the plan; else empty.
  std::optional<Protocol> protocol;  ///< That the plan was made from.
  /// What the engine's documentation says of the subject's combination; absent in reports of
  /// versions that did not look it up.
  std::optional<SupportFinding> support;
  Plan plan;
  Transcript transcript;
  TextFindings texts;  ///< Of the judged texts, where the criterion is of single texts.
  Judgement judgement;
  Scope scope;
};

/// Fills in the judgement and the scope from all else.
void JudgeReport(Report* report);

/// The report as JSON text. Distinct outputs are stored once and referred to by samples; logprobs
/// keep their exact bits.
std::string ReportToJson(const Report& report);
/// Strict. Throws Error(kInput): "FILE: place: fact".
Report ReportFromJson(const std::string& json, const std::string& file);

Report ReadReport(const std::string& path);
/// Writes to a temporary file beside `path`, then renames. Throws Error(kInput).
void WriteReport(const Report& report, const std::string& path);

}  // namespace detcheck
