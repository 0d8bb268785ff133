#include "cli/data_folder.h"

#include <filesystem>
#include <system_error>

namespace detcheck {

namespace fs = std::filesystem;

std::string DataFolder(const std::string& name) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path() / ".." / "share" / "detcheck" / name;
  if (fs::is_directory(installed, ignored)) return installed.lexically_normal().string();
  return std::string(DETCHECK_FIXTURES_DIR) + '/' + name;
}

}  // namespace detcheck
