#pragma once

#include "reports/report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {

/// The run with its judgement and with manifests, as the harness would write it.
Report ReportOf(const RunBuilder& run);

/// A steady run on two replicas, the first of which answers `first` and the other one `second`.
Report ReplicaReport(const Completion& first, const Completion& second);

/// Every kind of thing that a report can hold.
Report RichReport();

}  // namespace detcheck
