#include "cli/harness_manifest.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <fstream>
#include <thread>

#include "cli/version.h"

namespace detcheck {
namespace {

// What follows `key` and `separator` in the first such line of a file; empty where there is none.
std::string Lookup(const char* path, const std::string& key, char separator) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const size_t end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
  }
  return "";
}

ManifestField Observed(const std::string& name, const std::string& value) {
  return {name, value, value.empty() ? FieldSource::kUnknown : FieldSource::kObserved};
}

}  // namespace

Manifest HarnessManifest(const std::string& arguments) {
  utsname system = {};
  uname(&system);
  return {
      Observed("detcheck.version", Version()),
      Observed("detcheck.git_revision", GitRevision()),
      Observed("detcheck.git_dirty", GitDirty()),
      Observed("arguments", arguments),
      Observed("os", Lookup("/etc/os-release", "PRETTY_NAME", '=')),
      Observed("kernel", std::string(system.sysname) + ' ' + system.release),
      Observed("machine", system.machine),
      Observed("cpu.model", Lookup("/proc/cpuinfo", "model name", ':')),
      Observed("cpu.count", std::to_string(std::thread::hardware_concurrency())),
      Observed("compiler", DETCHECK_COMPILER),
      Observed("build_type", DETCHECK_BUILD_TYPE),
      Observed("libc", std::string("glibc ") + gnu_get_libc_version()),
      Observed("library.fmt", DETCHECK_FMT_VERSION),
      Observed("library.nlohmann_json", DETCHECK_JSON_VERSION),
      Observed("library.cli11", DETCHECK_CLI11_VERSION),
  };
}

}  // namespace detcheck
