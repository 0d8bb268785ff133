// Included by vec.h only. AArch64 NEON; v[i] holds lanes 4 i .. 4 i + 3.
#include <arm_neon.h>

namespace detcheck::cpu::DETCHECK_LEVEL_NS {

struct Lanes {
  float32x4_t v[4];
};
struct IntLanes {
  int32x4_t v[4];
};
struct Mask {
  uint32x4_t v[4];
};

// Applies one four-lane intrinsic to the four quarters of its operands.
#define DETCHECK_NEON_1(Result, op, a)             \
  Result {                                         \
    op(a.v[0]), op(a.v[1]), op(a.v[2]), op(a.v[3]) \
  }
#define DETCHECK_NEON_2(Result, op, a, b)                                          \
  Result {                                                                         \
    op(a.v[0], b.v[0]), op(a.v[1], b.v[1]), op(a.v[2], b.v[2]), op(a.v[3], b.v[3]) \
  }

inline Lanes Broadcast(float x) {
  const float32x4_t q = vdupq_n_f32(x);
  return {q, q, q, q};
}
inline Lanes Zero() {
  return Broadcast(0.0f);
}
inline Lanes Load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
inline void Store(float* p, Lanes a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
}
inline Lanes LoadPartial(const float* p, int n) {
  float whole[16] = {};
  for (int i = 0; i < n; ++i) whole[i] = p[i];
  return Load(whole);
}
inline void StorePartial(float* p, Lanes a, int n) {
  float whole[16];
  Store(whole, a);
  for (int i = 0; i < n; ++i) p[i] = whole[i];
}

inline Lanes Add(Lanes a, Lanes b) {
  return DETCHECK_NEON_2(Lanes, vaddq_f32, a, b);
}
inline Lanes Sub(Lanes a, Lanes b) {
  return DETCHECK_NEON_2(Lanes, vsubq_f32, a, b);
}
inline Lanes Mul(Lanes a, Lanes b) {
  return DETCHECK_NEON_2(Lanes, vmulq_f32, a, b);
}
inline Lanes Div(Lanes a, Lanes b) {
  return DETCHECK_NEON_2(Lanes, vdivq_f32, a, b);
}
inline Lanes Sqrt(Lanes a) {
  return DETCHECK_NEON_1(Lanes, vsqrtq_f32, a);
}
inline Lanes Neg(Lanes a) {
  return DETCHECK_NEON_1(Lanes, vnegq_f32, a);
}
inline Lanes Abs(Lanes a) {
  return DETCHECK_NEON_1(Lanes, vabsq_f32, a);
}
inline Lanes Fma(Lanes a, Lanes b, Lanes c) {
  return {vfmaq_f32(c.v[0], a.v[0], b.v[0]), vfmaq_f32(c.v[1], a.v[1], b.v[1]),
          vfmaq_f32(c.v[2], a.v[2], b.v[2]), vfmaq_f32(c.v[3], a.v[3], b.v[3])};
}

inline Mask Less(Lanes a, Lanes b) {
  return DETCHECK_NEON_2(Mask, vcltq_f32, a, b);
}
inline Mask Equal(Lanes a, Lanes b) {
  return DETCHECK_NEON_2(Mask, vceqq_f32, a, b);
}
inline Lanes Select(Mask m, Lanes if_true, Lanes if_false) {
  return {vbslq_f32(m.v[0], if_true.v[0], if_false.v[0]),
          vbslq_f32(m.v[1], if_true.v[1], if_false.v[1]),
          vbslq_f32(m.v[2], if_true.v[2], if_false.v[2]),
          vbslq_f32(m.v[3], if_true.v[3], if_false.v[3])};
}
inline bool Any(Mask m) {
  const uint32x4_t any = vorrq_u32(vorrq_u32(m.v[0], m.v[1]), vorrq_u32(m.v[2], m.v[3]));
  return vmaxvq_u32(any) != 0;
}
// Arm's own maximum treats NaN and zeros otherwise than x86, so a comparison and a selection.
inline Lanes Max(Lanes a, Lanes b) {
  return Select(Less(b, a), a, b);
}
inline Lanes Min(Lanes a, Lanes b) {
  return Select(Less(a, b), a, b);
}

inline IntLanes RoundToInt(Lanes a) {
  return DETCHECK_NEON_1(IntLanes, vcvtnq_s32_f32, a);
}
inline Lanes ToFloat(IntLanes a) {
  return DETCHECK_NEON_1(Lanes, vcvtq_f32_s32, a);
}
inline IntLanes BitsOf(Lanes a) {
  return DETCHECK_NEON_1(IntLanes, vreinterpretq_s32_f32, a);
}
inline Lanes FromBits(IntLanes a) {
  return DETCHECK_NEON_1(Lanes, vreinterpretq_f32_s32, a);
}
inline IntLanes IntBroadcast(int32_t x) {
  const int32x4_t q = vdupq_n_s32(x);
  return {q, q, q, q};
}
inline IntLanes IntAdd(IntLanes a, IntLanes b) {
  return DETCHECK_NEON_2(IntLanes, vaddq_s32, a, b);
}
inline IntLanes IntSub(IntLanes a, IntLanes b) {
  return DETCHECK_NEON_2(IntLanes, vsubq_s32, a, b);
}
inline IntLanes IntAnd(IntLanes a, IntLanes b) {
  return DETCHECK_NEON_2(IntLanes, vandq_s32, a, b);
}
inline IntLanes IntOr(IntLanes a, IntLanes b) {
  return DETCHECK_NEON_2(IntLanes, vorrq_s32, a, b);
}
template <int kBits>
inline IntLanes ShiftLeft(IntLanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] = vshlq_n_s32(a.v[i], kBits);
  return a;
}
template <int kBits>
inline IntLanes ShiftRight(IntLanes a) {
  for (int i = 0; i < 4; ++i) {
    a.v[i] = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a.v[i]), kBits));
  }
  return a;
}
template <int kBits>
inline IntLanes ShiftRightSigned(IntLanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] = vshrq_n_s32(a.v[i], kBits);
  return a;
}

inline float ReduceAdd(Lanes a) {
  const float32x4_t four = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
inline float ReduceMax(Lanes a) {
  float v[16];
  Store(v, a);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
  }
  return v[0];
}

inline Lanes LoadBf16(const uint16_t* p) {
  Lanes a;
  for (int i = 0; i < 4; ++i) {
    a.v[i] = vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vld1_u16(p + 4 * i)), 16));
  }
  return a;
}
inline Lanes RoundBf16(Lanes a);
inline void StoreBf16(uint16_t* p, Lanes a) {
  const Lanes rounded = RoundBf16(a);
  for (int i = 0; i < 4; ++i) {
    vst1_u16(p + 4 * i, vshrn_n_u32(vreinterpretq_u32_f32(rounded.v[i]), 16));
  }
}
inline Lanes LoadF16(const uint16_t* p) {
  Lanes a;
  for (int i = 0; i < 4; ++i) a.v[i] = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i)));
  return a;
}
inline void StoreF16(uint16_t* p, Lanes a) {
  for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(a.v[i])));
}
inline Lanes RoundF16(Lanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] = vcvt_f32_f16(vcvt_f16_f32(a.v[i]));
  return a;
}

#undef DETCHECK_NEON_1
#undef DETCHECK_NEON_2

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
