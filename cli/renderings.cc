#include "cli/renderings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/print.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;

void RequireWritablePath(const char* option, const std::string& path) {
  if (path.empty()) return;
  const auto refuse = [&](const char* fact) {
    throw Error(ErrorCode::kUsage, fmt::format("{} {}: {}", option, OneLine(path), fact));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("is a directory");
  const fs::path parent = fs::path(path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  if (!fs::is_directory(folder, ignored)) refuse("no such directory");
  const bool is_special = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  const std::string written_to = is_special ? path : folder.string();
  if (access(written_to.c_str(), W_OK) != 0) refuse("cannot be written");
}

}  // namespace

void RequireWritable(const RenderingPaths& paths) {
  RequireWritablePath("--junit", paths.junit);
  RequireWritablePath("--markdown", paths.markdown);
  RequireWritablePath("--html", paths.html);
}

bool WriteRendering(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  try {
    WriteFileAtomically(path, text);
    return true;
  } catch (const Error& error) {
    PrintNote(fmt::format("detcheck: {}\n", error.what()));
    return false;
  }
}

bool WriteRenderings(const Report& report, const RenderingPaths& paths) {
  bool all = true;
  if (!paths.junit.empty()) all &= WriteRendering(paths.junit, RenderJunit(SuitesOf(report, "")));
  if (!paths.markdown.empty()) all &= WriteRendering(paths.markdown, RenderMarkdown(report, ""));
  if (!paths.html.empty()) all &= WriteRendering(paths.html, RenderHtml(report));
  return all;
}

}  // namespace detcheck
