// Included by vec.h only. Any architecture: the compiler's vector types, SSE2 on x86-64. There is
// no fused multiply-add instruction to rely on, so Fma is made of exact double operations.

namespace detcheck::cpu::DETCHECK_LEVEL_NS {

typedef float Quad __attribute__((vector_size(16)));
typedef int32_t IntQuad __attribute__((vector_size(16)));
typedef uint32_t UnsignedQuad __attribute__((vector_size(16)));
typedef double DoubleQuad __attribute__((vector_size(32)));
typedef uint64_t WideQuad __attribute__((vector_size(32)));

struct Lanes {
  Quad v[4];
};
struct IntLanes {
  IntQuad v[4];
};
using Mask = IntLanes;  // -1 where true.

inline Lanes Broadcast(float x) {
  const Quad q = {x, x, x, x};
  return {{q, q, q, q}};
}
inline Lanes Zero() {
  return Broadcast(0.0f);
}
inline Lanes Load(const float* p) {
  Lanes a;
  __builtin_memcpy(&a, p, sizeof(a));
  return a;
}
inline void Store(float* p, Lanes a) {
  __builtin_memcpy(p, &a, sizeof(a));
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

inline IntLanes BitsOf(Lanes a) {
  IntLanes bits;
  for (int i = 0; i < 4; ++i) bits.v[i] = reinterpret_cast<IntQuad>(a.v[i]);
  return bits;
}
inline Lanes FromBits(IntLanes bits) {
  Lanes a;
  for (int i = 0; i < 4; ++i) a.v[i] = reinterpret_cast<Quad>(bits.v[i]);
  return a;
}
inline IntLanes IntBroadcast(int32_t x) {
  const IntQuad q = {x, x, x, x};
  return {{q, q, q, q}};
}
// Integers wrap around, as instructions do and signed arithmetic may not.
inline UnsignedQuad Unsigned(IntQuad a) {
  return reinterpret_cast<UnsignedQuad>(a);
}
inline IntQuad Signed(UnsignedQuad a) {
  return reinterpret_cast<IntQuad>(a);
}
inline IntLanes IntAdd(IntLanes a, IntLanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] = Signed(Unsigned(a.v[i]) + Unsigned(b.v[i]));
  return a;
}
inline IntLanes IntSub(IntLanes a, IntLanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] = Signed(Unsigned(a.v[i]) - Unsigned(b.v[i]));
  return a;
}
inline IntLanes IntAnd(IntLanes a, IntLanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] &= b.v[i];
  return a;
}
inline IntLanes IntOr(IntLanes a, IntLanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] |= b.v[i];
  return a;
}
template <int kBits>
inline IntLanes ShiftLeft(IntLanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] = Signed(Unsigned(a.v[i]) << kBits);
  return a;
}
template <int kBits>
inline IntLanes ShiftRight(IntLanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] = Signed(Unsigned(a.v[i]) >> kBits);
  return a;
}
template <int kBits>
inline IntLanes ShiftRightSigned(IntLanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] >>= kBits;
  return a;
}

inline Lanes Add(Lanes a, Lanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] += b.v[i];
  return a;
}
inline Lanes Sub(Lanes a, Lanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] -= b.v[i];
  return a;
}
inline Lanes Mul(Lanes a, Lanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] *= b.v[i];
  return a;
}
inline Lanes Div(Lanes a, Lanes b) {
  for (int i = 0; i < 4; ++i) a.v[i] /= b.v[i];
  return a;
}
inline Lanes Sqrt(Lanes a) {
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) a.v[i][j] = __builtin_sqrtf(a.v[i][j]);
  }
  return a;
}
inline Lanes Neg(Lanes a) {
  for (int i = 0; i < 4; ++i) a.v[i] = -a.v[i];
  return a;
}
inline Lanes Abs(Lanes a) {
  return FromBits(IntAnd(BitsOf(a), IntBroadcast(0x7fffffff)));
}

// One correctly rounded a * b + c. The product is exact in double. TwoSum gives the double sum and
// its exact error; where there is an error the sum is rounded to odd (its neighbour with an odd
// last bit on the side of the exact value), after which rounding to float, even to a subnormal one,
// is correct: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008. An infinity
// or NaN has a NaN as error and is left alone.
inline Quad FmaQuad(Quad a, Quad b, Quad c) {
  const DoubleQuad product =
      __builtin_convertvector(a, DoubleQuad) * __builtin_convertvector(b, DoubleQuad);
  const DoubleQuad addend = __builtin_convertvector(c, DoubleQuad);
  const DoubleQuad sum = product + addend;
  const DoubleQuad addend_part = sum - product;
  const DoubleQuad error = (product - (sum - addend_part)) + (addend - addend_part);
  const WideQuad bits = reinterpret_cast<WideQuad>(sum);
  const WideQuad inexact = reinterpret_cast<WideQuad>((error < 0.0) | (error > 0.0));
  const WideQuad towards_zero = (bits ^ reinterpret_cast<WideQuad>(error)) >> 63;
  const WideQuad step = inexact & ~bits & 1;
  const WideQuad odd = bits + step - ((step & towards_zero) << 1);
  return __builtin_convertvector(reinterpret_cast<DoubleQuad>(odd), Quad);
}
inline Lanes Fma(Lanes a, Lanes b, Lanes c) {
  for (int i = 0; i < 4; ++i) c.v[i] = FmaQuad(a.v[i], b.v[i], c.v[i]);
  return c;
}

inline Mask Less(Lanes a, Lanes b) {
  Mask m;
  for (int i = 0; i < 4; ++i) m.v[i] = a.v[i] < b.v[i];
  return m;
}
inline Mask Equal(Lanes a, Lanes b) {
  Mask m;
  for (int i = 0; i < 4; ++i) m.v[i] = a.v[i] == b.v[i];
  return m;
}
inline Lanes Select(Mask m, Lanes if_true, Lanes if_false) {
  const IntLanes t = BitsOf(if_true);
  const IntLanes f = BitsOf(if_false);
  IntLanes bits;
  for (int i = 0; i < 4; ++i) bits.v[i] = (t.v[i] & m.v[i]) | (f.v[i] & ~m.v[i]);
  return FromBits(bits);
}
inline bool Any(Mask m) {
  const IntQuad any = m.v[0] | m.v[1] | m.v[2] | m.v[3];
  return (any[0] | any[1] | any[2] | any[3]) != 0;
}
inline Lanes Max(Lanes a, Lanes b) {
  return Select(Less(b, a), a, b);
}
inline Lanes Min(Lanes a, Lanes b) {
  return Select(Less(a, b), a, b);
}

inline Lanes ToFloat(IntLanes a) {
  Lanes result;
  for (int i = 0; i < 4; ++i) result.v[i] = __builtin_convertvector(a.v[i], Quad);
  return result;
}
inline IntLanes RoundToInt(Lanes a) {
  // Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the double.
  IntLanes result;
  for (int i = 0; i < 4; ++i) {
    const DoubleQuad shifted = __builtin_convertvector(a.v[i], DoubleQuad) + 0x1.8p52;
    const WideQuad bits = reinterpret_cast<WideQuad>(shifted);
    for (int j = 0; j < 4; ++j) result.v[i][j] = static_cast<int32_t>(bits[j]);
  }
  return result;
}

inline float ReduceAdd(Lanes a) {
  const Quad four = (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
inline float ReduceMax(Lanes a) {
  float v[16];
  Store(v, a);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
  }
  return v[0];
}

inline IntLanes LoadHalves(const uint16_t* p) {
  IntLanes a;
  for (int i = 0; i < 16; ++i) a.v[i / 4][i % 4] = p[i];
  return a;
}
inline void StoreHalves(uint16_t* p, IntLanes a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<uint16_t>(a.v[i / 4][i % 4]);
}
inline Lanes LoadBf16(const uint16_t* p) {
  return FromBits(ShiftLeft<16>(LoadHalves(p)));
}
inline Lanes RoundBf16(Lanes a);
inline void StoreBf16(uint16_t* p, Lanes a) {
  StoreHalves(p, ShiftRight<16>(BitsOf(RoundBf16(a))));
}

inline Lanes LoadF16(const uint16_t* p) {
  const IntLanes half = LoadHalves(p);
  const IntLanes sign = ShiftLeft<16>(IntAnd(half, IntBroadcast(0x8000)));
  const IntLanes magnitude = ShiftLeft<13>(IntAnd(half, IntBroadcast(0x7fff)));
  const Lanes finite = Mul(FromBits(magnitude), Broadcast(0x1p112f));  // Exact.
  const IntLanes special = IntOr(magnitude, IntBroadcast(0x7f800000));
  const Mask is_finite = Less(finite, Broadcast(0x1p16f));
  return FromBits(IntOr(BitsOf(Select(is_finite, finite, FromBits(special))), sign));
}
inline Lanes RoundF16(Lanes a) {
  const Lanes magnitude = Abs(a);
  const IntLanes bits = BitsOf(magnitude);
  const IntLanes odd = IntAnd(ShiftRight<13>(bits), IntBroadcast(1));
  const IntLanes nearest = IntAdd(bits, IntAdd(odd, IntBroadcast(0xfff)));
  const Lanes normal = FromBits(IntAnd(nearest, IntBroadcast(~0x1fff)));
  // Below 2^-14 the spacing is 2^-24, that of float32 at 0.5.
  const Lanes subnormal = Sub(Add(magnitude, Broadcast(0.5f)), Broadcast(0.5f));
  const Lanes finite = Select(Less(magnitude, Broadcast(0x1p-14f)), subnormal, normal);
  const Lanes infinity = FromBits(IntBroadcast(0x7f800000));
  const Lanes number = Select(Less(finite, Broadcast(0x1p16f)), finite, infinity);
  const Lanes nan = FromBits(IntAnd(IntOr(bits, IntBroadcast(0x00400000)), IntBroadcast(~0x1fff)));
  const Lanes result = Select(Equal(a, a), number, nan);
  return FromBits(IntOr(BitsOf(result), IntAnd(BitsOf(a), IntBroadcast(INT32_MIN))));
}
inline void StoreF16(uint16_t* p, Lanes a) {
  const Lanes rounded = RoundF16(a);
  const Lanes magnitude = Abs(rounded);
  const IntLanes sign = ShiftRight<16>(IntAnd(BitsOf(rounded), IntBroadcast(INT32_MIN)));
  const IntLanes finite = ShiftRight<13>(BitsOf(Mul(magnitude, Broadcast(0x1p-112f))));
  const IntLanes special =
      IntOr(IntAnd(ShiftRight<13>(BitsOf(magnitude)), IntBroadcast(0x7fff)), IntBroadcast(0x7c00));
  const Lanes kept =
      Select(Less(magnitude, Broadcast(0x1p16f)), FromBits(finite), FromBits(special));
  StoreHalves(p, IntOr(BitsOf(kept), sign));
}

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
