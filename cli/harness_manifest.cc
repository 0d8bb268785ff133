#include "cli/harness_manifest.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "cli/environment.h"
#include "cli/version.h"
#include "engine/base/private_names.h"
#include "engine/regex/regex.h"
#include "engine/remote/curl_transfers.h"
#include "engine/tokenizer/unicode.h"

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

// Instruction sets that decide which kernels run, here and in the libraries; as the kernel names
// them on x86-64 and Arm.
constexpr std::array<std::string_view, 24> kFlags = {
    "sse4_2",      "avx",      "avx2",     "fma",      "f16c",        "bmi2",
    "avx512f",     "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16",    "asimd",
    "asimdhp",     "asimddp",  "bf16",     "sve",      "sve2",        "i8mm"};

std::string CpuFlags() {
  std::string all = Lookup("/proc/cpuinfo", "flags", ':');
  if (all.empty()) all = Lookup("/proc/cpuinfo", "Features", ':');
  std::istringstream words(all);
  std::string flags;
  for (std::string word; words >> word;) {
    if (std::find(kFlags.begin(), kFlags.end(), word) == kFlags.end()) continue;
    flags += (flags.empty() ? "" : " ") + word;
  }
  return flags;
}

// Called for each object in the process; the program itself and the kernel's have no path.
int AddLibrary(dl_phdr_info* object, size_t /*size*/, void* names) {
  const std::string_view path = object->dlpi_name;
  if (path.find('/') == std::string_view::npos) return 0;
  std::error_code ignored;
  // Behind the link, for the version that its name has.
  const std::filesystem::path file = std::filesystem::canonical(path, ignored);
  static_cast<std::set<std::string>*>(names)->insert(
      PublicName(ignored ? std::string(path) : file.string()));
  return 0;
}

std::string LoadedLibraries() {
  std::set<std::string> names;
  dl_iterate_phdr(AddLibrary, &names);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : " ") + name;
  return list;
}

ManifestField Observed(const std::string& name, const std::string& value) {
  return {name, value, value.empty() ? FieldSource::kUnknown : FieldSource::kObserved};
}

}  // namespace

Manifest HarnessManifest(const std::string& arguments) {
  utsname system = {};
  uname(&system);
  Manifest manifest = {
      Observed("detcheck.version", Version()),
      Observed("detcheck.git_revision", GitRevision()),
      Observed("detcheck.git_dirty", GitDirty()),
      Observed("arguments", arguments),
      Observed("os", Lookup("/etc/os-release", "PRETTY_NAME", '=')),
      Observed("kernel", std::string(system.sysname) + ' ' + system.release),
      Observed("machine", system.machine),
      Observed("cpu.model", Lookup("/proc/cpuinfo", "model name", ':')),
      Observed("cpu.count", std::to_string(std::thread::hardware_concurrency())),
      Observed("cpu.flags", CpuFlags()),
      Observed("compiler", DETCHECK_COMPILER),
      Observed("build_type", DETCHECK_BUILD_TYPE),
      Observed("libc", std::string("glibc ") + gnu_get_libc_version()),
      Observed("library.fmt", DETCHECK_FMT_VERSION),
      Observed("library.nlohmann_json", DETCHECK_JSON_VERSION),
      Observed("library.cli11", DETCHECK_CLI11_VERSION),
      Observed("library.cpp_httplib", DETCHECK_HTTPLIB_VERSION),
      Observed("library.valijson", DETCHECK_VALIJSON_VERSION),
      Observed("library.curl", CurlVersion()),
      Observed("library.pcre2", RegexLibraryVersion()),
      Observed("library.utf8proc", UnicodeLibraryVersion()),
      Observed("library.loaded", LoadedLibraries()),
  };
  for (ManifestField& field : EnvironmentFields()) manifest.push_back(std::move(field));
  return manifest;
}

}  // namespace detcheck
