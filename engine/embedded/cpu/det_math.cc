#include "engine/embedded/cpu/det_math.h"

#include <bit>
#include <cstddef>
#include <limits>

#include "engine/embedded/cpu/dispatch.h"

// The double functions follow fdlibm (Sun Microsystems, 1993): e_exp.c, e_log.c, k_sin.c, k_cos.c
// and the reduction of e_rem_pio2.c for medium arguments, whose constants these are.

namespace detcheck::cpu {
namespace {

constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits: a small multiple is exact.
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kRoundToInt = 0x1.8p52;  // Adding and subtracting this rounds to an integer.

double ExponentOfTwo(int n) {
  return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// An angle less a multiple of pi / 2: high + low in [-pi / 4, pi / 4], and the multiple.
struct ReducedAngle {
  double high;
  double low;
  int64_t quadrant;
};

ReducedAngle ReduceAngle(double x) {
  constexpr double kTwoOverPi = 6.36619772367581382433e-01;
  // pi / 2 in parts of 33 bits, whose multiples up to 2^20 are exact, and the rest of it.
  constexpr double kPart1 = 1.57079632673412561417e+00;
  constexpr double kPart2 = 6.07710050630396597660e-11;
  constexpr double kPart3 = 2.02226624871116645580e-21;
  constexpr double kRest = 8.47842766036889956997e-32;
  const double n = (x * kTwoOverPi + kRoundToInt) - kRoundToInt;
  const double first = x - n * kPart1;
  const double second_part = n * kPart2;
  const double second = first - second_part;
  const double second_error = (first - second) - second_part;
  const double third_part = n * kPart3;
  const double third = second - third_part;
  const double third_error = (second - third) - third_part;
  const double error = (second_error + third_error) - n * kRest;
  const double high = third + error;
  return {high, (third - high) + error, static_cast<int64_t>(n)};
}

double KernelSin(double x, double low) {
  const double z = x * x;
  const double v = z * x;
  double r = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10;
  r = 2.75573137070700676789e-06 + z * r;
  r = -1.98412698298579493134e-04 + z * r;
  r = 8.33333333332248946124e-03 + z * r;
  return x - ((z * (0.5 * low - v * r) - low) - v * -1.66666666666666324348e-01);
}

double KernelCos(double x, double low) {
  const double z = x * x;
  double r = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11;
  r = -2.75573143513906633035e-07 + z * r;
  r = 2.48015872894767294178e-05 + z * r;
  r = -1.38888888888741095749e-03 + z * r;
  r = z * (4.16666666666666019037e-02 + z * r);
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * r - x * low));
}

// sin(x + quadrants * pi / 2).
double SinOfQuadrant(const ReducedAngle& angle, int64_t quadrants) {
  const double value =
      (quadrants & 1) != 0 ? KernelCos(angle.high, angle.low) : KernelSin(angle.high, angle.low);
  return (quadrants & 2) != 0 ? -value : value;
}

}  // namespace

float DetExp(float x) {
  float y = 0;
  KernelsFor(DetectSimdLevel()).math.exp(&x, &y, 1);
  return y;
}

float DetLog(float x) {
  float y = 0;
  KernelsFor(DetectSimdLevel()).math.log(&x, &y, 1);
  return y;
}

double DetExpDouble(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0.0;
  const double n = (x * 1.44269504088896338700e+00 + kRoundToInt) - kRoundToInt;
  const double high = x - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  const double z = r * r;
  double p = -1.65339022054652515390e-06 + z * 4.13813679705723846039e-08;
  p = 6.61375632143793436117e-05 + z * p;
  p = -2.77777777770155933842e-03 + z * p;
  p = 1.66666666666666019037e-01 + z * p;
  const double c = r - z * p;
  const double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
  const int exponent = static_cast<int>(n);
  const int half = exponent / 2;
  return y * ExponentOfTwo(half) * ExponentOfTwo(exponent - half);
}

double DetLogDouble(double x) {
  if (x != x || x == std::numeric_limits<double>::infinity()) return x;
  if (x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  const bool is_subnormal = x < 0x1p-1022;
  const uint64_t bits = std::bit_cast<uint64_t>(is_subnormal ? x * 0x1p54 : x);
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const int64_t offset = static_cast<int64_t>(bits - kSqrtHalf);
  const double e = static_cast<double>((offset >> 52) - (is_subnormal ? 54 : 0));
  const uint64_t mantissa = static_cast<uint64_t>(offset) & 0x000fffffffffffff;
  const double f = std::bit_cast<double>(mantissa + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double r = 1.531383769920937332e-01 + z * 1.479819860511658591e-01;
  r = 1.818357216161805012e-01 + z * r;
  r = 2.222219843214978396e-01 + z * r;
  r = 2.857142874366239149e-01 + z * r;
  r = 3.999999999940941908e-01 + z * r;
  r = z * (6.666666666666735130e-01 + z * r);
  const double half_square = 0.5 * f * f;
  return e * kLn2High - ((half_square - (s * (half_square + r) + e * kLn2Low)) - f);
}

double DetSin(double x) {
  const ReducedAngle angle = ReduceAngle(x);
  return SinOfQuadrant(angle, angle.quadrant);
}

double DetCos(double x) {
  const ReducedAngle angle = ReduceAngle(x);
  return SinOfQuadrant(angle, angle.quadrant + 1);
}

double DetPow(double x, double y) {
  return DetExpDouble(y * DetLogDouble(x));
}

std::vector<double> RopeInvFreq(double theta, int head_dim,
                                const std::optional<Llama3RopeScaling>& scaling) {
  constexpr double kTwoPi = 6.28318530717958647693;
  std::vector<double> inv_freq(static_cast<size_t>(head_dim / 2));
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / head_dim;
    const double freq = DetPow(theta, -exponent);
    inv_freq[i] = freq;
    if (!scaling) continue;
    const double old_len = scaling->original_max_position_embeddings;
    const double wavelength = kTwoPi / freq;
    if (wavelength > old_len / scaling->low_freq_factor) {
      inv_freq[i] = freq / scaling->factor;
    } else if (wavelength >= old_len / scaling->high_freq_factor) {
      const double smooth = (old_len / wavelength - scaling->low_freq_factor) /
                            (scaling->high_freq_factor - scaling->low_freq_factor);
      inv_freq[i] = (1.0 - smooth) * freq / scaling->factor + smooth * freq;
    }
  }
  return inv_freq;
}

void RopeRow(const std::vector<double>& inv_freq, int64_t position, float* cos, float* sin) {
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const double angle = static_cast<double>(position) * inv_freq[i];
    cos[i] = static_cast<float>(DetCos(angle));
    sin[i] = static_cast<float>(DetSin(angle));
  }
}

}  // namespace detcheck::cpu
