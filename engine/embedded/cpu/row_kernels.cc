#include "engine/embedded/cpu/row_kernels.h"

#include "engine/embedded/cpu/vec_math.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

template <Rounding kRounding>
inline Lanes Rounded(Lanes a) {
  if constexpr (kRounding == Rounding::kBf16) return RoundBf16(a);
  if constexpr (kRounding == Rounding::kF16) return RoundF16(a);
  return a;
}

// Calls step(i, count) for the vectors of a row; count is 16 but for the last.
template <class Step>
inline void ForEachVector(int64_t n, const Step& step) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) step(i, kLanes);
  if (i < n) step(i, static_cast<int>(n - i));
}

inline Lanes LoadSome(const float* p, int count) {
  return count == kLanes ? Load(p) : LoadPartial(p, count);
}

inline void StoreSome(float* p, Lanes a, int count) {
  if (count == kLanes) {
    Store(p, a);
  } else {
    StorePartial(p, a, count);
  }
}

// Lanes past the end of a row are +0, whose square adds nothing.
inline Lanes InverseRms(Lanes square_sums, float eps, int64_t n) {
  const Lanes sum = Broadcast(ReduceAdd(square_sums));
  const Lanes mean = Div(sum, Broadcast(static_cast<float>(n)));
  return Div(Broadcast(1.0f), Sqrt(Add(mean, Broadcast(eps))));
}

template <Rounding kRounding>
inline void Normalize(const float* x, const float* weight, Lanes inverse_rms, int64_t n,
                      float* out) {
  ForEachVector(n, [=](int64_t i, int count) {
    const Lanes normal = Rounded<kRounding>(Mul(LoadSome(x + i, count), inverse_rms));
    StoreSome(out + i, Rounded<kRounding>(Mul(normal, LoadSome(weight + i, count))), count);
  });
}

template <Rounding kRounding>
void RmsNorm(const float* x, const float* weight, float eps, int64_t n, float* out) {
  Lanes squares = Zero();
  ForEachVector(n, [&](int64_t i, int count) {
    const Lanes v = LoadSome(x + i, count);
    squares = Fma(v, v, squares);
  });
  Normalize<kRounding>(x, weight, InverseRms(squares, eps, n), n, out);
}

template <Rounding kRounding>
void AddRmsNorm(float* residual, const float* delta, const float* weight, float eps, int64_t n,
                float* out) {
  Lanes squares = Zero();
  ForEachVector(n, [&](int64_t i, int count) {
    const Lanes sum = Add(LoadSome(residual + i, count), LoadSome(delta + i, count));
    const Lanes v = Rounded<kRounding>(sum);
    StoreSome(residual + i, v, count);
    squares = Fma(v, v, squares);
  });
  Normalize<kRounding>(residual, weight, InverseRms(squares, eps, n), n, out);
}

template <Rounding kRounding>
void AddRow(const float* a, const float* b, int64_t n, float* out) {
  ForEachVector(n, [=](int64_t i, int count) {
    const Lanes sum = Add(LoadSome(a + i, count), LoadSome(b + i, count));
    StoreSome(out + i, Rounded<kRounding>(sum), count);
  });
}

template <Rounding kRounding>
void Rope(float* head, const float* cos, const float* sin, int64_t n) {
  float* second_half = head + n / 2;
  ForEachVector(n / 2, [=](int64_t i, int count) {
    const Lanes c = LoadSome(cos + i, count);
    const Lanes s = LoadSome(sin + i, count);
    const Lanes a = LoadSome(head + i, count);
    const Lanes b = LoadSome(second_half + i, count);
    StoreSome(head + i, Rounded<kRounding>(Fma(a, c, Neg(Mul(b, s)))), count);
    StoreSome(second_half + i, Rounded<kRounding>(Fma(b, c, Mul(a, s))), count);
  });
}

template <Rounding kRounding>
void SiluMul(const float* gate, const float* up, int64_t n, float* out) {
  ForEachVector(n, [=](int64_t i, int count) {
    const Lanes g = LoadSome(gate + i, count);
    const Lanes silu = Rounded<kRounding>(Div(g, Add(Broadcast(1.0f), Exp(Neg(g)))));
    StoreSome(out + i, Rounded<kRounding>(Mul(silu, LoadSome(up + i, count))), count);
  });
}

// The instance of a kernel for a run-time rounding.
#define DETCHECK_FOR_ROUNDING(kernel, ...)         \
  switch (rounding) {                              \
    case Rounding::kBf16:                          \
      return kernel<Rounding::kBf16>(__VA_ARGS__); \
    case Rounding::kF16:                           \
      return kernel<Rounding::kF16>(__VA_ARGS__);  \
    case Rounding::kNone:                          \
      return kernel<Rounding::kNone>(__VA_ARGS__); \
  }

void RmsNormAny(const float* x, const float* weight, float eps, int64_t n, Rounding rounding,
                float* out) {
  DETCHECK_FOR_ROUNDING(RmsNorm, x, weight, eps, n, out)
}

void AddRmsNormAny(float* residual, const float* delta, const float* weight, float eps, int64_t n,
                   Rounding rounding, float* out) {
  DETCHECK_FOR_ROUNDING(AddRmsNorm, residual, delta, weight, eps, n, out)
}

void AddAny(const float* a, const float* b, int64_t n, Rounding rounding, float* out) {
  DETCHECK_FOR_ROUNDING(AddRow, a, b, n, out)
}

void RopeAny(float* head, const float* cos, const float* sin, int64_t n, Rounding rounding) {
  DETCHECK_FOR_ROUNDING(Rope, head, cos, sin, n)
}

void SiluMulAny(const float* gate, const float* up, int64_t n, Rounding rounding, float* out) {
  DETCHECK_FOR_ROUNDING(SiluMul, gate, up, n, out)
}

inline Lanes MinusInfinity() {
  return FromBits(IntBroadcast(static_cast<int32_t>(0xff800000u)));
}

// As LoadSome, with -infinity past the end.
inline Lanes LoadOrMinusInfinity(const float* p, int count) {
  if (count == kLanes) return Load(p);
  float whole[kLanes];
  Store(whole, MinusInfinity());
  for (int i = 0; i < count; ++i) whole[i] = p[i];
  return Load(whole);
}

// The maximum of a row, NaN ignored; -infinity where there is none.
float MaxOfRow(const float* x, int64_t n) {
  Lanes max = MinusInfinity();
  ForEachVector(n,
                [&](int64_t i, int count) { max = Max(LoadOrMinusInfinity(x + i, count), max); });
  return ReduceMax(max);
}

float LogSumExp(const float* x, int64_t n) {
  const float max = MaxOfRow(x, n);
  const float infinity = __builtin_inff();
  const Lanes shift = Broadcast(max == -infinity || max == infinity ? 0.0f : max);
  Lanes sum = Zero();
  ForEachVector(n, [&](int64_t i, int count) {
    sum = Add(sum, Exp(Sub(LoadOrMinusInfinity(x + i, count), shift)));
  });
  float result[kLanes];
  Store(result, Add(shift, Log(Broadcast(ReduceAdd(sum)))));
  return result[0];
}

int32_t Argmax(const float* x, int64_t n) {
  const float max = MaxOfRow(x, n);
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] == max) return static_cast<int32_t>(i);
  }
  return 0;
}

// Puts a value into the descending list of at most k; equals keep the order of arrival.
int Insert(Candidate candidate, int size, int k, Candidate* out) {
  if (size == k && !(candidate.logit > out[k - 1].logit)) return size;
  int at = size < k ? size : k - 1;
  for (; at > 0 && candidate.logit > out[at - 1].logit; --at) out[at] = out[at - 1];
  out[at] = candidate;
  return size < k ? size + 1 : k;
}

// Only vectors with a value above the least of the list are looked at value by value. A list that
// is full takes no equal of its least, since that has a higher index.
int TopK(const float* x, int64_t n, int k, Candidate* out) {
  int size = 0;
  ForEachVector(n, [&](int64_t i, int count) {
    if (size == k) {
      const Lanes least = Broadcast(out[k - 1].logit);
      if (!Any(Less(least, LoadOrMinusInfinity(x + i, count)))) return;
    }
    for (int j = 0; j < count; ++j) {
      const float logit = x[i + j];
      if (logit == logit) size = Insert({static_cast<int32_t>(i + j), logit}, size, k, out);
    }
  });
  return size;
}

#undef DETCHECK_FOR_ROUNDING

}  // namespace

extern const RowKernels kRowKernels;
const RowKernels kRowKernels = {
    .rms_norm = RmsNormAny,
    .add_rms_norm = AddRmsNormAny,
    .add = AddAny,
    .rope = RopeAny,
    .silu_mul = SiluMulAny,
    .log_sum_exp = LogSumExp,
    .argmax = Argmax,
    .top_k = TopK,
};

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
