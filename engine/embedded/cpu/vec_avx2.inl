// Included by vec.h only. AVX2, FMA and F16C; `lo` holds lanes 0..7, `hi` lanes 8..15.
#include <immintrin.h>

namespace detcheck::cpu::DETCHECK_LEVEL_NS {

struct Lanes {
  __m256 lo, hi;
};
struct IntLanes {
  __m256i lo, hi;
};
struct Mask {
  __m256 lo, hi;
};

// All bits set in the first n of 8 lanes; n may be below 0 or above 8.
inline __m256i FirstLanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Lanes Zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
inline Lanes Broadcast(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline Lanes Load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline void Store(float* p, Lanes a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline Lanes LoadPartial(const float* p, int n) {
  return {_mm256_maskload_ps(p, FirstLanes(n)), _mm256_maskload_ps(p + 8, FirstLanes(n - 8))};
}
inline void StorePartial(float* p, Lanes a, int n) {
  _mm256_maskstore_ps(p, FirstLanes(n), a.lo);
  _mm256_maskstore_ps(p + 8, FirstLanes(n - 8), a.hi);
}

inline Lanes Add(Lanes a, Lanes b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline Lanes Sub(Lanes a, Lanes b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline Lanes Mul(Lanes a, Lanes b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline Lanes Div(Lanes a, Lanes b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline Lanes Sqrt(Lanes a) {
  return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}
inline Lanes Fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Lanes Max(Lanes a, Lanes b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
inline Lanes Min(Lanes a, Lanes b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
inline Lanes Neg(Lanes a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
}
inline Lanes Abs(Lanes a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}

inline Mask Less(Lanes a, Lanes b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
inline Mask Equal(Lanes a, Lanes b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
inline Lanes Select(Mask m, Lanes if_true, Lanes if_false) {
  return {_mm256_blendv_ps(if_false.lo, if_true.lo, m.lo),
          _mm256_blendv_ps(if_false.hi, if_true.hi, m.hi)};
}
inline bool Any(Mask m) {
  return _mm256_movemask_ps(_mm256_or_ps(m.lo, m.hi)) != 0;
}

inline IntLanes RoundToInt(Lanes a) {
  return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)};
}
inline Lanes ToFloat(IntLanes a) {
  return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
}
inline IntLanes BitsOf(Lanes a) {
  return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)};
}
inline Lanes FromBits(IntLanes a) {
  return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
inline IntLanes IntBroadcast(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
inline IntLanes IntAdd(IntLanes a, IntLanes b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline IntLanes IntSub(IntLanes a, IntLanes b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
inline IntLanes IntAnd(IntLanes a, IntLanes b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline IntLanes IntOr(IntLanes a, IntLanes b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
template <int kBits>
inline IntLanes ShiftLeft(IntLanes a) {
  return {_mm256_slli_epi32(a.lo, kBits), _mm256_slli_epi32(a.hi, kBits)};
}
template <int kBits>
inline IntLanes ShiftRight(IntLanes a) {
  return {_mm256_srli_epi32(a.lo, kBits), _mm256_srli_epi32(a.hi, kBits)};
}
template <int kBits>
inline IntLanes ShiftRightSigned(IntLanes a) {
  return {_mm256_srai_epi32(a.lo, kBits), _mm256_srai_epi32(a.hi, kBits)};
}

inline float ReduceAdd(Lanes a) {
  const __m256 eight = _mm256_add_ps(a.lo, a.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(Lanes a) {
  const __m256 eight = _mm256_max_ps(a.lo, a.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline __m128i LoadHalf(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline Lanes LoadBf16(const uint16_t* p) {
  return FromBits(ShiftLeft<16>(
      IntLanes{_mm256_cvtepu16_epi32(LoadHalf(p)), _mm256_cvtepu16_epi32(LoadHalf(p + 8))}));
}
inline Lanes RoundBf16(Lanes a);
inline void StoreBf16(uint16_t* p, Lanes a) {
  const IntLanes high = ShiftRight<16>(BitsOf(RoundBf16(a)));
  const __m256i mixed = _mm256_packus_epi32(high.lo, high.hi);  // Quarters in order 0, 2, 1, 3.
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(mixed, 0xd8));
}
inline Lanes LoadF16(const uint16_t* p) {
  return {_mm256_cvtph_ps(LoadHalf(p)), _mm256_cvtph_ps(LoadHalf(p + 8))};
}
inline void StoreF16(uint16_t* p, Lanes a) {
  __m128i* to = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(to, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(to + 1, _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
}
inline Lanes RoundF16(Lanes a) {
  return {_mm256_cvtph_ps(_mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT)),
          _mm256_cvtph_ps(_mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT))};
}

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
