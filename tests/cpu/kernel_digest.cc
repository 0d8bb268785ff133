// Prints one line: a digest (FNV-1a, 64 bits) of the bits that the deterministic kernels give on
// seeded input. It must be the same for every level, machine and compiler.
//
// usage: kernel_digest [baseline|avx2|avx512|neon]

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/embedded/cpu/det_math.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/float_format.h"
#include "engine/embedded/cpu/gemm.h"

namespace detcheck::cpu {
namespace {

class Digest {
 public:
  void Add(uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      state_ = (state_ ^ ((word >> (8 * byte)) & 0xff)) * 0x100000001b3;
    }
  }
  void Add(double x) { Add(std::bit_cast<uint64_t>(x)); }
  void Add(const std::vector<float>& values) {
    for (float x : values) Add(uint64_t{x != x ? 0x7fc00000 : std::bit_cast<uint32_t>(x)});
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

// A linear congruential generator, so that the input needs no library.
class Random {
 public:
  uint32_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }
  std::vector<float> Activations(size_t n) {
    std::vector<float> values(n);
    for (float& x : values) x = static_cast<float>(Next()) * 0x1p-30f - 2.0f;
    return values;
  }
  std::vector<float> Bits(size_t n) {
    std::vector<float> values(n);
    for (float& x : values) x = std::bit_cast<float>(Next());
    return values;
  }

 private:
  uint64_t state_ = 1;
};

void AddMath(const KernelTable& kernels, Random& random, Digest& digest) {
  constexpr int64_t kNum = 1 << 16;
  const std::vector<float> a = random.Bits(kNum), b = random.Bits(kNum), c = random.Bits(kNum);
  std::vector<float> y(kNum);
  kernels.math.fma(a.data(), b.data(), c.data(), y.data(), kNum);
  digest.Add(y);
  for (auto kernel :
       {kernels.math.exp, kernels.math.log, kernels.math.round_bf16, kernels.math.round_f16}) {
    kernel(a.data(), y.data(), kNum);
    digest.Add(y);
  }
  for (int i = 0; i < 1000; ++i) {
    const double x = random.Next() * 0x1p-12;
    digest.Add(DetSin(x));
    digest.Add(DetCos(x));
    digest.Add(DetExpDouble(x * 0x1p-12));
    digest.Add(DetLogDouble(x + 1));
  }
}

void AddGemm(const KernelTable& kernels, Random& random, Digest& digest) {
  constexpr int64_t kN = 75, kK = 700, kM = 20;
  ThreadPool pool(2);
  GemmWorkspace workspace;
  PackedMatrix w(kN, kK, WeightFormat::kFloat32);
  w.SetRowsFloat(pool, 0, kN, random.Activations(kN * kK).data());
  const std::vector<float> x = random.Activations(kM * kK);
  for (Rounding rounding : {Rounding::kNone, Rounding::kBf16, Rounding::kF16}) {
    for (int64_t m : {int64_t{1}, int64_t{3}, kM}) {
      std::vector<float> out(static_cast<size_t>(m * kN));
      Gemm(kernels, pool, x.data(), m, w, rounding, out.data(), workspace);
      digest.Add(out);
    }
  }
}

void AddRows(const KernelTable& kernels, Random& random, Digest& digest) {
  constexpr int64_t kNum = 1000;
  constexpr auto kBf16 = Rounding::kBf16;
  const std::vector<float> x = random.Activations(kNum), weight = random.Activations(kNum);
  std::vector<float> residual = random.Activations(kNum), out(kNum);
  kernels.row.rms_norm(x.data(), weight.data(), 1e-6f, kNum, kBf16, out.data());
  digest.Add(out);
  kernels.row.add_rms_norm(residual.data(), x.data(), weight.data(), 1e-6f, kNum, Rounding::kNone,
                           out.data());
  digest.Add(residual);
  digest.Add(out);
  kernels.row.silu_mul(x.data(), weight.data(), kNum, Rounding::kF16, out.data());
  digest.Add(out);
  std::vector<float> cos(64), sin(64), head = random.Activations(128);
  const Llama3RopeScaling scaling;
  RopeRow(RopeInvFreq(500000, 128, scaling), 131071, cos.data(), sin.data());
  kernels.row.rope(head.data(), cos.data(), sin.data(), 128, kBf16);
  digest.Add(head);
  digest.Add(std::vector<float>{kernels.row.log_sum_exp(x.data(), kNum)});
  digest.Add(static_cast<uint64_t>(kernels.row.argmax(x.data(), kNum)));
  Candidate top[64];
  const int num_top = kernels.row.top_k(x.data(), kNum, 64, top);
  for (int i = 0; i < num_top; ++i) digest.Add(static_cast<uint64_t>(top[i].id));
}

uint64_t DigestOf(SimdLevel level) {
  Random random;
  Digest digest;
  AddMath(KernelsFor(level), random, digest);
  AddGemm(KernelsFor(level), random, digest);
  AddRows(KernelsFor(level), random, digest);
  return digest.value();
}

}  // namespace
}  // namespace detcheck::cpu

int main(int argc, char** argv) {
  for (detcheck::cpu::SimdLevel level : detcheck::cpu::AvailableLevels()) {
    const bool wanted = argc > 1 ? std::strcmp(argv[1], detcheck::cpu::SimdLevelName(level)) == 0
                                 : level == detcheck::cpu::DetectSimdLevel();
    if (!wanted) continue;
    const uint64_t digest = detcheck::cpu::DigestOf(level);
    std::printf("%016llx\n", static_cast<unsigned long long>(digest));
    return 0;
  }
  std::fprintf(stderr, "kernel_digest: this processor does not run that level\n");
  return 1;
}
