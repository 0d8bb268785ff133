#include "engine/embedded/cpu/default_kernels.h"

#include "engine/embedded/cpu/vec.h"
#include "engine/embedded/cpu/vec_math.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

// The whole vector at `p`, or its first `left` lanes.
inline Lanes LoadUpTo(const float* p, int64_t left) {
  return left >= kLanes ? Load(p) : LoadPartial(p, static_cast<int>(left));
}
inline void StoreUpTo(float* p, Lanes a, int64_t left) {
  if (left >= kLanes) {
    Store(p, a);
  } else {
    StorePartial(p, a, static_cast<int>(left));
  }
}

inline Lanes Rounded(Lanes a, Rounding rounding) {
  if (rounding == Rounding::kBf16) return RoundBf16(a);
  return rounding == Rounding::kF16 ? RoundF16(a) : a;
}

// The vector at x, with delta's added and stored back where there is one.
inline Lanes LoadAdded(float* x, const float* delta, int64_t left, Rounding rounding) {
  const Lanes a = LoadUpTo(x, left);
  if (delta == nullptr) return a;
  const Lanes sum = Rounded(Add(a, LoadUpTo(delta, left)), rounding);
  StoreUpTo(x, sum, left);
  return sum;
}

inline void Normalize(const float* x, const float* gain, float square_sum, float eps, int64_t width,
                      Rounding rounding, float* out) {
  const float mean = square_sum / static_cast<float>(width);
  const Lanes inverse = Broadcast(1.0f / __builtin_sqrtf(mean + eps));
  for (int64_t i = 0; i < width; i += kLanes) {
    const Lanes normal = Rounded(Mul(LoadUpTo(x + i, width - i), inverse), rounding);
    const Lanes y = Rounded(Mul(normal, LoadUpTo(gain + i, width - i)), rounding);
    StoreUpTo(out + i, y, width - i);
  }
}

// kRows rows, the squares of each added in kChains chains.
template <int kRows, int kChains>
void Norm(float* x, const float* delta, const float* gain, float eps, int64_t width,
          Rounding rounding, float* out) {
  Lanes squares[kRows][kChains];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kChains; ++c) squares[r][c] = Zero();
  }
  for (int64_t i = 0; i < width; i += kChains * kLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) {
      const int64_t at = i + c * kLanes;
      if (at >= width) break;
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const int64_t offset = r * width + at;
        const Lanes v = LoadAdded(x + offset, delta == nullptr ? nullptr : delta + offset,
                                  width - at, rounding);
        squares[r][c] = Fma(v, v, squares[r][c]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    Lanes sum = squares[r][0];
    for (int c = 1; c < kChains; ++c) sum = Add(sum, squares[r][c]);
    Normalize(x + r * width, gain, ReduceAdd(sum), eps, width, rounding, out + r * width);
  }
}

void Softmax(float* scores, int64_t visible, int64_t width, float scale) {
  const Lanes lowest = Broadcast(-__builtin_inff());
  const Lanes factor = Broadcast(scale);
  const int64_t whole = visible / kLanes * kLanes;
  Lanes max = lowest;
  for (int64_t i = 0; i < whole; i += kLanes) max = Max(max, Load(scores + i));
  float highest = ReduceMax(max);
  for (int64_t i = whole; i < visible; ++i) highest = scores[i] > highest ? scores[i] : highest;
  const Lanes subtract = Broadcast(highest * scale);
  Lanes sum = Zero();
  for (int64_t i = 0; i < whole; i += kLanes) {
    const Lanes w = Exp(Sub(Mul(Load(scores + i), factor), subtract));
    sum = Add(sum, w);
    Store(scores + i, w);
  }
  float total = ReduceAdd(sum);
  if (whole < visible) {
    const int64_t left = visible - whole;
    StoreUpTo(scores + whole, Exp(Sub(Mul(LoadUpTo(scores + whole, left), factor), subtract)),
              left);
    for (int64_t i = whole; i < visible; ++i) total += scores[i];
  }
  const Lanes inverse = Broadcast(1.0f / total);
  for (int64_t i = 0; i < visible; i += kLanes) {
    StoreUpTo(scores + i, Mul(LoadUpTo(scores + i, visible - i), inverse), visible - i);
  }
  for (int64_t i = visible; i < width; ++i) scores[i] = 0.0f;
}

}  // namespace

extern const DefaultKernels kDefaultKernels;
const DefaultKernels kDefaultKernels = {
    .norm_1 = Norm<1, 8>,
    .norm_4 = Norm<4, 1>,
    .softmax = Softmax,
};

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
