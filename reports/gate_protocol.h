#pragma once

#include <string>

#include "fixtures/protocol.h"
#include "reports/report.h"

namespace detcheck {

/// Refuses a report, of the file `file`, that is of one shard alone, and one that keeps a protocol
/// and was not run as that declares: by another criterion, or for other modes or another scope.
/// With `expected`, whose criterion has its schema and whose files have their digests, also one
/// that was run by another protocol, by none, or with other contents of those files. What the
/// protocol requires and the run did not show is no reason to refuse: the judgement says so. Throws
/// Error(kInput), one line.
void RequireProtocol(const Report& report, const std::string& file, const Protocol* expected);

}  // namespace detcheck
