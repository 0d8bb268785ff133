#pragma once

/// Elementary functions for kernels: the one definition of each, a fixed sequence of correctly
/// rounded operations, bit for bit the CPU engine's (engine/embedded/cpu/vec_math.h, det_math.cc).

namespace detcheck::cuda {

/// e^x within 2 ulp, subnormal results included; 0 below about -104, infinity above about 88.72.
/// Cephes `expf` (Moshier, 1992). Twin: cpu::DetExp.
__device__ __forceinline__ float Exp(float x) {
  const float clamped = fminf(fmaxf(x, -104.0f), 89.0f);
  const int n = __float2int_rn(__fmul_rn(clamped, 1.44269504088896341f));
  const float whole = __int2float_rn(n);
  float r = __fmaf_rn(-whole, 0.693359375f, clamped);
  r = __fmaf_rn(whole, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = __fmaf_rn(p, r, 1.3981999507e-3f);
  p = __fmaf_rn(p, r, 8.3334519073e-3f);
  p = __fmaf_rn(p, r, 4.1665795894e-2f);
  p = __fmaf_rn(p, r, 1.6666665459e-1f);
  p = __fmaf_rn(p, r, 5.0000001201e-1f);
  const float y = __fadd_rn(__fmaf_rn(p, __fmul_rn(r, r), r), 1.0f);
  // Two powers of two: the first product is exact, the second rounds once, to a subnormal too.
  const int half = n >> 1;
  const float scale_1 = __int_as_float((half + 127) << 23);
  const float scale_2 = __int_as_float((n - half + 127) << 23);
  return x == x ? __fmul_rn(__fmul_rn(y, scale_1), scale_2) : x;
}

/// Natural logarithm of a positive, finite, normal number, within 1 ulp; of fdlibm (Sun
/// Microsystems, 1993). Twin: cpu::DetLogDouble.
__device__ __forceinline__ double Log(double x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  constexpr long long kSqrtHalf = 0x3fe6a09e667f3bcd;
  const long long offset = __double_as_longlong(x) - kSqrtHalf;
  const double e = static_cast<double>(offset >> 52);
  const double f = __dsub_rn(__longlong_as_double((offset & 0x000fffffffffffff) + kSqrtHalf), 1.0);
  const double s = __ddiv_rn(f, __dadd_rn(2.0, f));
  const double z = __dmul_rn(s, s);
  double r = __dadd_rn(1.531383769920937332e-01, __dmul_rn(z, 1.479819860511658591e-01));
  r = __dadd_rn(1.818357216161805012e-01, __dmul_rn(z, r));
  r = __dadd_rn(2.222219843214978396e-01, __dmul_rn(z, r));
  r = __dadd_rn(2.857142874366239149e-01, __dmul_rn(z, r));
  r = __dadd_rn(3.999999999940941908e-01, __dmul_rn(z, r));
  r = __dmul_rn(z, __dadd_rn(6.666666666666735130e-01, __dmul_rn(z, r)));
  const double half_square = __dmul_rn(__dmul_rn(0.5, f), f);
  const double low =
      __dadd_rn(__dmul_rn(s, __dadd_rn(half_square, r)), __dmul_rn(e, 1.90821492927058770002e-10));
  return __dsub_rn(__dmul_rn(e, 6.93147180369123816490e-01),
                   __dsub_rn(__dsub_rn(half_square, low), f));
}

}  // namespace detcheck::cuda
