#include "cli/support_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/data_folder.h"
#include "engine/base/error.h"
#include "engine/support_tables.h"
#include "fixtures/support_file.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> SupportPaths() {
  const std::string folder = DataFolder("support");
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  if (error) throw Error(ErrorCode::kInput, folder + ": cannot be read: " + error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::vector<SupportTable> AllSupportTables() {
  std::vector<SupportTable> tables = OwnSupportTables();
  for (const std::string& path : SupportPaths()) tables.push_back(ReadSupportFile(path));
  return tables;
}

SupportFinding SupportOf(const Manifest& subject, const Plan& plan) {
  const std::string engine = FieldValue(subject, "engine.name");
  const auto is_it = [&](const SupportTable& table) { return table.engine == engine; };
  std::vector<SupportTable> tables = OwnSupportTables();
  // The embedded engine runs without any file.
  if (std::none_of(tables.begin(), tables.end(), is_it)) tables = AllSupportTables();
  const auto it = std::find_if(tables.begin(), tables.end(), is_it);
  return LookUpSupport(subject, SamplesNonGreedily(plan), it == tables.end() ? nullptr : &*it);
}

}  // namespace detcheck
