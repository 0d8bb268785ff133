#include "engine/embedded/cpu/dispatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace detcheck::cpu {

// What each level's build of the kernel sources defines.
#define DETCHECK_DECLARE_LEVEL(level)              \
  namespace level {                                \
  extern const AttentionKernels kAttentionKernels; \
  extern const DefaultKernels kDefaultKernels;     \
  extern const GemmKernels kGemmKernels;           \
  extern const MathKernels kMathKernels;           \
  extern const RowKernels kRowKernels;             \
  }
#define DETCHECK_LEVEL_TABLE(level)                                                     \
  KernelTable {                                                                         \
    .attention = level::kAttentionKernels, .defaults = level::kDefaultKernels,          \
    .gemm = level::kGemmKernels, .math = level::kMathKernels, .row = level::kRowKernels \
  }

DETCHECK_DECLARE_LEVEL(baseline)
#if defined(__x86_64__)
DETCHECK_DECLARE_LEVEL(avx2)
DETCHECK_DECLARE_LEVEL(avx512)
#elif defined(__aarch64__)
DETCHECK_DECLARE_LEVEL(neon)
#endif

namespace {

#if defined(__x86_64__)
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

std::vector<SimdLevel> DetectLevels() {
  std::vector<SimdLevel> levels = {SimdLevel::kBaseline};
#if defined(__x86_64__)
  if (HasAvx2()) levels.push_back(SimdLevel::kAvx2);
  if (HasAvx512()) levels.push_back(SimdLevel::kAvx512);
#elif defined(__aarch64__)
  levels.push_back(SimdLevel::kNeon);
#endif
  return levels;
}

}  // namespace

const std::vector<SimdLevel>& AvailableLevels() {
  static const std::vector<SimdLevel> levels = DetectLevels();
  return levels;
}

SimdLevel DetectSimdLevel() {
  return AvailableLevels().back();
}

const KernelTable& KernelsFor(SimdLevel level) {
  static const KernelTable baseline_table = DETCHECK_LEVEL_TABLE(baseline);
#if defined(__x86_64__)
  static const KernelTable avx2_table = DETCHECK_LEVEL_TABLE(avx2);
  static const KernelTable avx512_table = DETCHECK_LEVEL_TABLE(avx512);
  if (level == SimdLevel::kAvx2) return avx2_table;
  if (level == SimdLevel::kAvx512) return avx512_table;
#elif defined(__aarch64__)
  static const KernelTable neon_table = DETCHECK_LEVEL_TABLE(neon);
  if (level == SimdLevel::kNeon) return neon_table;
#endif
  return baseline_table;
}

const char* SimdLevelName(SimdLevel level) {
  switch (level) {
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kAvx512:
      return "avx512";
    case SimdLevel::kNeon:
      return "neon";
    case SimdLevel::kBaseline:
      break;
  }
  return "baseline";
}

}  // namespace detcheck::cpu
