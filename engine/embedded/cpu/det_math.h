#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/embedded/rope_scaling.h"

namespace detcheck::cpu {

/// Elementary functions with the same bits on every machine: nothing of libm, no contraction.

/// float32 e^x and natural logarithm within 2 ulp, bit for bit those of MathKernels.
float DetExp(float x);
float DetLog(float x);

/// In double, made of IEEE + - * / alone; within 1 ulp of double or so. `x` of DetSin and DetCos is
/// finite with |x| < 2^20. DetPow takes x > 0 and loses accuracy in proportion to |y log x|.
double DetExpDouble(double x);
double DetLogDouble(double x);
double DetSin(double x);
double DetCos(double x);
double DetPow(double x, double y);

/// inv_freq[i] = theta^(-2 i / head_dim), i in [0, head_dim / 2), in double; scaled where `scaling`
/// is given, as Hugging Face does for `rope_type: llama3`.
std::vector<double> RopeInvFreq(double theta, int head_dim,
                                const std::optional<Llama3RopeScaling>& scaling);

/// cos[i] and sin[i] of position * inv_freq[i], taken in double and rounded to float32.
/// `position` is at most 2^20.
void RopeRow(const std::vector<double>& inv_freq, int64_t position, float* cos, float* sin);

}  // namespace detcheck::cpu
