#include "cli/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/private_names.h"

namespace detcheck {
namespace {

using enum VariableForm;

constexpr std::string_view kSwitch = "0 1 true false on off yes no";
constexpr size_t kMostNumberCharacters = 64;

constexpr auto kAllowed = std::to_array<AllowedVariable>({
    {"OMP_NUM_THREADS", kNumbers, "", "threads of libraries that use OpenMP: how sums are split"},
    {"OMP_DYNAMIC", kWords, kSwitch, "lets the number of threads change from call to call"},
    {"OPENBLAS_NUM_THREADS", kNumbers, "", "threads of OpenBLAS, where nothing sets them"},
    {"GOTO_NUM_THREADS", kNumbers, "", "older name of the same"},
    {"OPENBLAS_CORETYPE", kWords,
     "prescott core2 nehalem sandybridge haswell skylakex cooperlake sapphirerapids zen barcelona "
     "bulldozer piledriver steamroller excavator armv8 armv8sve cortexa53 cortexa57 cortexa72 "
     "cortexa76 neoversen1 neoversen2 neoversev1 thunderx2t99",
     "kernels that OpenBLAS takes: default mode on the CPU"},
    {"MKL_NUM_THREADS", kNumbers, "", "threads of MKL, where a library stands on it"},
    {"MKL_CBWR", kWords, "auto compatible sse2 sse4_2 avx avx2 avx512 avx512_e1 strict off",
     "reproducibility mode of MKL"},
    {"CUDA_VISIBLE_DEVICES", kNumbers, "", "which GPUs the engine sees"},
    {"CUDA_DEVICE_ORDER", kWords, "fastest_first pci_bus_id", "which GPU has number 0"},
    {"CUDA_LAUNCH_BLOCKING", kWords, kSwitch, "no two kernels at once"},
    {"CUDA_MODULE_LOADING", kWords, "eager lazy default", "when kernels are loaded"},
    {"CUBLAS_WORKSPACE_CONFIG", kNumbers, "", "workspace of cuBLAS: with it, its algorithms"},
    {"CUBLASLT_WORKSPACE_SIZE", kNumbers, "", "workspace of cuBLASLt: with it, split-K"},
    {"NVIDIA_TF32_OVERRIDE", kWords, kSwitch, "TF32 in matrix products"},
    {"NCCL_ALGO", kWords,
     "tree ring collnet collnetdirect collnetchain nvls nvlstree pat allreduce:tree "
     "allreduce:ring",
     "order of sums over ranks"},
    {"NCCL_PROTO", kWords, "simple ll ll128", "protocol of NCCL: with it, the order of sums"},
    {"NCCL_MIN_NCHANNELS", kNumbers, "", "how NCCL cuts a message: with it, the order of sums"},
    {"NCCL_MAX_NCHANNELS", kNumbers, "", "the same"},
    {"NCCL_NVLS_ENABLE", kWords, "0 1 2", "sums inside the switch"},
    {"MALLOC_ARENA_MAX", kNumbers, "", "placement of memory: shows reads of what was not written"},
    {"MALLOC_PERTURB_", kNumbers, "", "fills new memory: the same"},
    {"LD_PRELOAD", kFileNames, "", "libraries put in front of the others"},
});

constexpr std::string_view kNotShown = "(set; not a value that is shown)";
constexpr std::string_view kEmpty = "(empty)";  // Not the same as not set: it hides all GPUs.

bool IsNumbers(std::string_view value) {
  return value.size() <= kMostNumberCharacters &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return (c >= '0' && c <= '9') || c == ',' || c == ':' || c == '.' || c == '-';
         });
}

std::vector<std::string> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool AreWords(std::string value, std::string_view words) {
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::vector<std::string> known = Split(words, " ");
  const std::vector<std::string> parts = Split(value, ",");
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return std::find(known.begin(), known.end(), part) != known.end();
  });
}

std::string FileNames(std::string_view value) {
  std::string names;
  for (const std::string& path : Split(value, ": ")) {
    const std::string name = PublicName(path);
    const bool is_library = name.find(".so") != std::string::npos;
    names += (names.empty() ? "" : " ") + (is_library ? name : std::string(kNotShown));
  }
  return names;
}

std::string Shown(const AllowedVariable& variable, const std::string& value) {
  if (value.empty()) return std::string(kEmpty);
  switch (variable.form) {
    case kNumbers:
      return IsNumbers(value) ? value : std::string(kNotShown);
    case kWords:
      return AreWords(value, variable.words) ? value : std::string(kNotShown);
    case kFileNames:
      return FileNames(value);
  }
  return std::string(kNotShown);
}

}  // namespace

std::span<const AllowedVariable> AllowedEnvironment() {
  return kAllowed;
}

Manifest EnvironmentFields() {
  Manifest fields;
  std::string not_set;
  for (const AllowedVariable& variable : kAllowed) {
    const char* value = std::getenv(std::string(variable.name).c_str());
    if (value != nullptr) {
      fields.push_back(
          {"env." + std::string(variable.name), Shown(variable, value), FieldSource::kObserved});
    } else {
      not_set += (not_set.empty() ? "" : " ") + std::string(variable.name);
    }
  }
  fields.push_back({"env.not_set", not_set, FieldSource::kObserved});
  return fields;
}

}  // namespace detcheck
