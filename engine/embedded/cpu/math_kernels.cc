#include "engine/embedded/cpu/math_kernels.h"

#include "engine/embedded/cpu/vec_math.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

// y = op(x), the tail in a vector padded with zeros.
template <Lanes (*kOp)(Lanes)>
void Map(const float* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, kOp(Load(x + i)));
  const int rest = static_cast<int>(n - i);
  if (rest > 0) StorePartial(y + i, kOp(LoadPartial(x + i, rest)), rest);
}

void FmaArray(const float* a, const float* b, const float* c, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, Fma(Load(a + i), Load(b + i), Load(c + i)));
  const int rest = static_cast<int>(n - i);
  if (rest == 0) return;
  const Lanes last =
      Fma(LoadPartial(a + i, rest), LoadPartial(b + i, rest), LoadPartial(c + i, rest));
  StorePartial(y + i, last, rest);
}

template <void (*kStore)(uint16_t*, Lanes)>
void Narrow(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) kStore(y + i, Load(x + i));
  const int rest = static_cast<int>(n - i);
  uint16_t last[kLanes];
  kStore(last, LoadPartial(x + i, rest));
  for (int j = 0; j < rest; ++j) y[i + j] = last[j];
}

template <Lanes (*kLoad)(const uint16_t*)>
void Widen(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, kLoad(x + i));
  const int rest = static_cast<int>(n - i);
  uint16_t last[kLanes] = {};
  for (int j = 0; j < rest; ++j) last[j] = x[i + j];
  StorePartial(y + i, kLoad(last), rest);
}

}  // namespace

extern const MathKernels kMathKernels;
const MathKernels kMathKernels = {
    .exp = Map<Exp>,
    .log = Map<Log>,
    .fma = FmaArray,
    .round_bf16 = Map<RoundBf16>,
    .round_f16 = Map<RoundF16>,
    .float_to_bf16 = Narrow<StoreBf16>,
    .float_to_f16 = Narrow<StoreF16>,
    .bf16_to_float = Widen<LoadBf16>,
    .f16_to_float = Widen<LoadF16>,
};

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
