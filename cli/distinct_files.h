#pragma once

#include "cli/options.h"

namespace detcheck {

/// Throws Error(kUsage) where a file that is to be written is one that is read, or is to be written
/// twice: what it holds would be lost. What is no regular file (/dev/stdout) may be.
void RequireDistinctFiles(const Options& options);

}  // namespace detcheck
