#pragma once

#include <string>

#include "reports/report.h"

namespace detcheck {

/// Files that a result is written to beside the report; empty: not written.
struct RenderingPaths {
  std::string junit;
  std::string markdown;
  std::string html;
};

/// Throws Error(kUsage) where one of them could not be written.
void RequireWritable(const RenderingPaths& paths);

/// Writes each file as a whole. Says on stderr which could not be written; whether all were.
bool WriteRenderings(const Report& report, const RenderingPaths& paths);

/// Writes one file as WriteRenderings does; nothing where `path` is empty.
bool WriteRendering(const std::string& path, const std::string& text);

}  // namespace detcheck
