#pragma once

/// The value type of every deterministic CPU kernel: 16 float32 lanes, on every machine.
///
/// Kernel sources (the `*_kernels.cc` files) are compiled once per SIMD level, each time with
/// DETCHECK_LEVEL_NS set to the namespace of that level (`baseline`, `avx2`, `avx512`, `neon`) and
/// one of the DETCHECK_LEVEL_* switches. Everything here lives in that namespace, so that code
/// built with wide instructions is never merged into code that must run without them. For the same
/// reason a kernel source uses no std containers, no std templates and no shared inline functions.
///
/// Every operation is either exact, or one correctly rounded IEEE 754 operation, or a fixed tree of
/// those: its bits are the same at all levels. Only the payload of a NaN is unspecified.
///
/// Types:
///   Lanes      16 float32 values
///   IntLanes   16 int32 values
///   Mask       16 booleans
/// Memory (unaligned; `n` is 0..16):
///   Zero() Broadcast(x) Load(p) Store(p, a)
///   LoadPartial(p, n)       lanes from n on are +0, and are not read
///   StorePartial(p, a, n)   lanes from n on are not written
///   LoadBf16(p) LoadF16(p)  16 values of 16 bits, widened exactly
///   StoreBf16(p, a) StoreF16(p, a)   rounded to nearest, ties to even; NaN stays NaN
/// Arithmetic:
///   Add Sub Mul Div Sqrt    one rounding each
///   Fma(a, b, c)            a * b + c, one rounding, in software where the level has no
///   instruction FmaNeg(a, b, c)         c - a * b, one rounding Max(a, b) Min(a, b)     a > b ? a
///   : b and a < b ? a : b; so b where either is NaN Neg Abs                 exact, on the sign bit
///   RoundBf16 RoundF16      to the nearest value of the format, ties to even, as float32
/// Comparison (false for NaN):
///   Less(a, b) Equal(a, b) Select(mask, if_true, if_false) Any(mask)
/// Reductions, as the tree j + (j + 8), then + 4, + 2, + 1:
///   ReduceAdd ReduceMax
/// Integers:
///   RoundToInt(a)           nearest, ties to even; |a| < 2^31
///   ToFloat(i) BitsOf(a) FromBits(i)
///   IntBroadcast IntAdd IntSub IntAnd IntOr ShiftLeft<k> ShiftRight<k> (logical)
///   ShiftRightSigned<k>

#include <cstddef>
#include <cstdint>

#if defined(DETCHECK_LEVEL_AVX512)
#include "engine/embedded/cpu/vec_avx512.inl"
#elif defined(DETCHECK_LEVEL_AVX2)
#include "engine/embedded/cpu/vec_avx2.inl"
#elif defined(DETCHECK_LEVEL_NEON)
#include "engine/embedded/cpu/vec_neon.inl"
#elif defined(DETCHECK_LEVEL_BASELINE)
#include "engine/embedded/cpu/vec_baseline.inl"
#else
#error "vec.h is for kernel sources only: see KERNEL_SOURCES in CMakeLists.txt"
#endif

namespace detcheck::cpu::DETCHECK_LEVEL_NS {

inline constexpr int kLanes = 16;

inline Lanes FmaNeg(Lanes a, Lanes b, Lanes c) {
  return Fma(Neg(a), b, c);
}

inline Lanes RoundBf16(Lanes a) {
  const IntLanes bits = BitsOf(a);
  const IntLanes odd = IntAnd(ShiftRight<16>(bits), IntBroadcast(1));
  const IntLanes nearest = IntAdd(bits, IntAdd(odd, IntBroadcast(0x7fff)));
  const IntLanes quiet = IntOr(bits, IntBroadcast(0x00400000));
  const Lanes kept = Select(Equal(a, a), FromBits(nearest), FromBits(quiet));
  return FromBits(IntAnd(BitsOf(kept), IntBroadcast(static_cast<int32_t>(0xffff0000u))));
}

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
