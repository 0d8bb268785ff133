#pragma once

/// Exponential and logarithm over Lanes, for kernel sources. Nothing of libm, so the bits are the
/// same everywhere. Polynomials: Cephes `expf` and `logf` (Moshier, 1992), evaluated with Fma.

#include "engine/embedded/cpu/vec.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {

/// e^x within 2 ulp, subnormal results included; 0 below about -104, infinity above about 88.72.
/// Order: element-wise, a fixed sequence of correctly rounded operations.
inline Lanes Exp(Lanes x) {
  const Lanes clamped = Min(Max(x, Broadcast(-104.0f)), Broadcast(89.0f));
  const IntLanes n = RoundToInt(Mul(clamped, Broadcast(1.44269504088896341f)));
  const Lanes whole = ToFloat(n);
  Lanes r = FmaNeg(whole, Broadcast(0.693359375f), clamped);
  r = Fma(whole, Broadcast(2.12194440e-4f), r);
  Lanes p = Broadcast(1.9875691500e-4f);
  p = Fma(p, r, Broadcast(1.3981999507e-3f));
  p = Fma(p, r, Broadcast(8.3334519073e-3f));
  p = Fma(p, r, Broadcast(4.1665795894e-2f));
  p = Fma(p, r, Broadcast(1.6666665459e-1f));
  p = Fma(p, r, Broadcast(5.0000001201e-1f));
  const Lanes y = Add(Fma(p, Mul(r, r), r), Broadcast(1.0f));
  // Two powers of two: the first product is exact, the second rounds once, to a subnormal too.
  const IntLanes half = ShiftRightSigned<1>(n);
  const IntLanes bias = IntBroadcast(127);
  const Lanes scale_1 = FromBits(ShiftLeft<23>(IntAdd(half, bias)));
  const Lanes scale_2 = FromBits(ShiftLeft<23>(IntAdd(IntSub(n, half), bias)));
  return Select(Equal(x, x), Mul(Mul(y, scale_1), scale_2), x);
}

/// Natural logarithm within 2 ulp, subnormal arguments included; -infinity at 0, NaN below 0.
/// Order: element-wise, a fixed sequence of correctly rounded operations.
inline Lanes Log(Lanes x) {
  const Mask is_subnormal = Less(x, Broadcast(0x1p-126f));
  const Lanes normal = Select(is_subnormal, Mul(x, Broadcast(0x1p23f)), x);
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  const IntLanes sqrt_half = IntBroadcast(0x3f3504f3);
  const IntLanes offset = IntSub(BitsOf(normal), sqrt_half);
  const Lanes scaled = Select(is_subnormal, Broadcast(-23.0f), Zero());
  const Lanes e = Add(ToFloat(ShiftRightSigned<23>(offset)), scaled);
  const Lanes m = FromBits(IntAdd(IntAnd(offset, IntBroadcast(0x007fffff)), sqrt_half));
  const Lanes f = Sub(m, Broadcast(1.0f));
  const Lanes f2 = Mul(f, f);
  Lanes p = Broadcast(7.0376836292e-2f);
  p = Fma(p, f, Broadcast(-1.1514610310e-1f));
  p = Fma(p, f, Broadcast(1.1676998740e-1f));
  p = Fma(p, f, Broadcast(-1.2420140846e-1f));
  p = Fma(p, f, Broadcast(1.4249322787e-1f));
  p = Fma(p, f, Broadcast(-1.6668057665e-1f));
  p = Fma(p, f, Broadcast(2.0000714765e-1f));
  p = Fma(p, f, Broadcast(-2.4999993993e-1f));
  p = Fma(p, f, Broadcast(3.3333331174e-1f));
  Lanes y = Mul(Mul(f, f2), p);
  y = Fma(e, Broadcast(-2.12194440e-4f), y);
  y = Fma(f2, Broadcast(-0.5f), y);
  y = Fma(e, Broadcast(0.693359375f), Add(f, y));
  const Lanes infinity = FromBits(IntBroadcast(0x7f800000));
  y = Select(Less(x, infinity), y, x);  // Infinity and NaN are their own logarithms.
  y = Select(Less(x, Zero()), FromBits(IntBroadcast(0x7fc00000)), y);
  return Select(Equal(x, Zero()), Neg(infinity), y);
}

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
