// Included by vec.h only. AVX-512 F, BW, DQ and VL.
#include <immintrin.h>

namespace detcheck::cpu::DETCHECK_LEVEL_NS {

struct Lanes {
  __m512 v;
};
struct IntLanes {
  __m512i v;
};
struct Mask {
  __mmask16 v;
};

inline __mmask16 FirstLanes(int n) {
  return static_cast<__mmask16>((1u << n) - 1u);
}

inline Lanes Zero() {
  return {_mm512_setzero_ps()};
}
inline Lanes Broadcast(float x) {
  return {_mm512_set1_ps(x)};
}
inline Lanes Load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline void Store(float* p, Lanes a) {
  _mm512_storeu_ps(p, a.v);
}
inline Lanes LoadPartial(const float* p, int n) {
  return {_mm512_maskz_loadu_ps(FirstLanes(n), p)};
}
inline void StorePartial(float* p, Lanes a, int n) {
  _mm512_mask_storeu_ps(p, FirstLanes(n), a.v);
}

inline Lanes Add(Lanes a, Lanes b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline Lanes Sub(Lanes a, Lanes b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline Lanes Mul(Lanes a, Lanes b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline Lanes Div(Lanes a, Lanes b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline Lanes Sqrt(Lanes a) {
  return {_mm512_sqrt_ps(a.v)};
}
inline Lanes Fma(Lanes a, Lanes b, Lanes c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline Lanes Max(Lanes a, Lanes b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline Lanes Min(Lanes a, Lanes b) {
  return {_mm512_min_ps(a.v, b.v)};
}
inline Lanes Neg(Lanes a) {
  return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))};
}
inline Lanes Abs(Lanes a) {
  return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)};
}

inline Mask Less(Lanes a, Lanes b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
inline Mask Equal(Lanes a, Lanes b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
}
inline Lanes Select(Mask m, Lanes if_true, Lanes if_false) {
  return {_mm512_mask_blend_ps(m.v, if_false.v, if_true.v)};
}
inline bool Any(Mask m) {
  return m.v != 0;
}

inline IntLanes RoundToInt(Lanes a) {
  return {_mm512_cvtps_epi32(a.v)};
}
inline Lanes ToFloat(IntLanes a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
inline IntLanes BitsOf(Lanes a) {
  return {_mm512_castps_si512(a.v)};
}
inline Lanes FromBits(IntLanes a) {
  return {_mm512_castsi512_ps(a.v)};
}
inline IntLanes IntBroadcast(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
inline IntLanes IntAdd(IntLanes a, IntLanes b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline IntLanes IntSub(IntLanes a, IntLanes b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
inline IntLanes IntAnd(IntLanes a, IntLanes b) {
  return {_mm512_and_si512(a.v, b.v)};
}
inline IntLanes IntOr(IntLanes a, IntLanes b) {
  return {_mm512_or_si512(a.v, b.v)};
}
template <int kBits>
inline IntLanes ShiftLeft(IntLanes a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline IntLanes ShiftRight(IntLanes a) {
  return {_mm512_srli_epi32(a.v, kBits)};
}
template <int kBits>
inline IntLanes ShiftRightSigned(IntLanes a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}

inline float ReduceAdd(Lanes a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(Lanes a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline Lanes LoadBf16(const uint16_t* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}
inline Lanes RoundBf16(Lanes a);
inline void StoreBf16(uint16_t* p, Lanes a) {
  const __m512i high = _mm512_srli_epi32(_mm512_castps_si512(RoundBf16(a).v), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(high));
}
inline Lanes LoadF16(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline void StoreF16(uint16_t* p, Lanes a) {
  const __m256i half = _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), half);
}
inline Lanes RoundF16(Lanes a) {
  return {_mm512_cvtph_ps(_mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
}

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
