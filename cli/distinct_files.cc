#include "cli/distinct_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::exists(a, ignored) && !fs::is_regular_file(a, ignored)) return false;
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::absolute(a, ignored).lexically_normal() == fs::absolute(b, ignored).lexically_normal();
}

}  // namespace

void RequireDistinctFiles(const Options& options) {
  std::vector<std::string> taken = options.files;
  taken.insert(taken.end(), options.fixtures.begin(), options.fixtures.end());
  for (const std::string& file :
       {options.file, options.plan_file, options.baseline, options.protocol}) {
    if (!file.empty()) taken.push_back(file);
  }
  const std::pair<const char*, std::string> outputs[] = {
      {"--report", options.report},
      {"--plan", options.save_plan},
      {"--junit", options.renderings.junit},
      {"--markdown", options.renderings.markdown},
      {"--html", options.renderings.html}};
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    for (const std::string& other : taken) {
      if (!IsSameFile(path, other)) continue;
      throw Error(ErrorCode::kUsage, fmt::format("{} {}: {} would be written over", option,
                                                 OneLine(path), OneLine(other)));
    }
    taken.push_back(path);
  }
}

}  // namespace detcheck
