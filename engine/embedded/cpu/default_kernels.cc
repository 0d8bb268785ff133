#include "engine/embedded/cpu/default_kernels.h"

#include "engine/embedded/cpu/vec.h"
#include "engine/embedded/cpu/vec_math.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

constexpr int kChains = 8;

// The last vector of a row, padded with zeros where the row ends within it.
inline Lanes LoadUpTo(const float* x, int64_t left) {
  return left >= kLanes ? Load(x) : LoadPartial(x, static_cast<int>(left));
}

void SquareSum1(const float* x, int64_t width, float* sum) {
  Lanes acc[kChains];
  for (int c = 0; c < kChains; ++c) acc[c] = Zero();
  int64_t i = 0;
  for (; i + kChains * kLanes <= width; i += kChains * kLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) {
      const Lanes v = Load(x + i + c * kLanes);
      acc[c] = Fma(v, v, acc[c]);
    }
  }
  for (; i < width; i += kLanes) {
    const Lanes v = LoadUpTo(x + i, width - i);
    acc[0] = Fma(v, v, acc[0]);
  }
  for (int half = kChains / 2; half > 0; half /= 2) {
    for (int c = 0; c < half; ++c) acc[c] = Add(acc[c], acc[c + half]);
  }
  *sum = ReduceAdd(acc[0]);
}

void SquareSum4(const float* x, int64_t width, float* sums) {
  Lanes acc[4] = {Zero(), Zero(), Zero(), Zero()};
  for (int64_t i = 0; i < width; i += kLanes) {
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const Lanes v = LoadUpTo(x + r * width + i, width - i);
      acc[r] = Fma(v, v, acc[r]);
    }
  }
  for (int r = 0; r < 4; ++r) sums[r] = ReduceAdd(acc[r]);
}

void Scale(const float* x, float scale, int64_t n, float* y) {
  const Lanes factor = Broadcast(scale);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, Mul(Load(x + i), factor));
  const int rest = static_cast<int>(n - i);
  if (rest > 0) StorePartial(y + i, Mul(LoadPartial(x + i, rest), factor), rest);
}

void Softmax(float* scores, int64_t visible, int64_t width, float scale) {
  for (int64_t i = visible; i < width; ++i) scores[i] = 0.0f;
  const int64_t whole = visible / kLanes * kLanes;
  float max = scores[0];
  Lanes max_lanes = Broadcast(max);
  for (int64_t i = 0; i < whole; i += kLanes) max_lanes = Max(max_lanes, Load(scores + i));
  for (int64_t i = whole; i < visible; ++i) max = scores[i] > max ? scores[i] : max;
  const float lanes_max = ReduceMax(max_lanes);
  const Lanes subtract = Broadcast((lanes_max > max ? lanes_max : max) * scale);
  const Lanes factor = Broadcast(scale);
  Lanes sum = Zero();
  for (int64_t i = 0; i < whole; i += kLanes) {
    const Lanes w = Exp(Sub(Mul(Load(scores + i), factor), subtract));
    sum = Add(sum, w);
    Store(scores + i, w);
  }
  const int rest = static_cast<int>(visible - whole);
  float tail = 0.0f;
  if (rest > 0) {
    float last[kLanes];
    Store(last, Exp(Sub(Mul(LoadPartial(scores + whole, rest), factor), subtract)));
    for (int i = 0; i < rest; ++i) tail += last[i];
    for (int i = 0; i < rest; ++i) scores[whole + i] = last[i];
  }
  Scale(scores, 1.0f / (ReduceAdd(sum) + tail), visible, scores);
}

}  // namespace

extern const DefaultKernels kDefaultKernels;
const DefaultKernels kDefaultKernels = {
    .square_sum_1 = SquareSum1,
    .square_sum_4 = SquareSum4,
    .scale = Scale,
    .softmax = Softmax,
};

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
