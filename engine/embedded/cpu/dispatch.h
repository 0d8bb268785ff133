#pragma once

#include <vector>

#include "engine/embedded/cpu/attention_kernels.h"
#include "engine/embedded/cpu/default_kernels.h"
#include "engine/embedded/cpu/gemm_kernels.h"
#include "engine/embedded/cpu/math_kernels.h"
#include "engine/embedded/cpu/row_kernels.h"

namespace detcheck::cpu {

/// Instruction sets that the kernels are built for. All give the same bits; they differ in speed.
enum class SimdLevel {
  kBaseline,  ///< Any processor; the fused multiply-add is in software.
  kAvx2,      ///< x86-64 with AVX2, FMA and F16C.
  kAvx512,    ///< x86-64 with AVX-512 F, BW, DQ and VL.
  kNeon,      ///< AArch64.
};

/// The kernels of one level: plain function pointers, one struct per kernel source.
struct KernelTable {
  AttentionKernels attention;
  DefaultKernels defaults;
  GemmKernels gemm;
  MathKernels math;
  RowKernels row;
};

/// The fastest level this processor runs.
SimdLevel DetectSimdLevel();

/// All levels this processor runs, kBaseline first, the fastest last.
const std::vector<SimdLevel>& AvailableLevels();

/// `level` must be one of AvailableLevels(). The table lives as long as the program.
const KernelTable& KernelsFor(SimdLevel level);

/// "baseline", "avx2", "avx512" or "neon".
const char* SimdLevelName(SimdLevel level);

}  // namespace detcheck::cpu
