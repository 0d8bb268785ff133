// Deterministic Gemm beside OpenBLAS on the layer shapes of Qwen3-0.6B, the two in turn on the same
// threads. Prints, per shape and M, the time of each and OpenBLAS time / deterministic time (above
// 1: Gemm is faster), then the ratio over the sum of a layer.
//
// usage: gemm_bench [num_threads]

#include <cblas.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/float_format.h"
#include "engine/embedded/cpu/gemm.h"

extern "C" void openblas_set_num_threads(int num_threads);

namespace detcheck::cpu {
namespace {

struct Shape {
  const char* name;
  int64_t n, k;
  bool in_layer;
};

constexpr Shape kShapes[] = {{"qkv", 4096, 1024, true},
                             {"o", 1024, 2048, true},
                             {"gate_up", 6144, 1024, true},
                             {"down", 1024, 3072, true},
                             {"lm_head", 151936, 1024, false}};

// Weights of the size of a model, so that few rows find them in memory rather than in a cache.
constexpr int64_t kWeightBytes = int64_t{600} << 20;
constexpr int kRepeats = 15;

double Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double SecondsOf(clockid_t clock, const std::function<void()>& work) {
  const double start = Now(clock);
  work();
  return Now(clock) - start;
}

// The same weights for OpenBLAS (row major float32) and for Gemm (packed, float32 and bf16).
struct Weights {
  Weights(const Shape& shape, ThreadPool& pool)
      : rows(static_cast<size_t>(shape.n * shape.k)),
        float32(shape.n, shape.k, WeightFormat::kFloat32),
        bf16(shape.n, shape.k, WeightFormat::kBf16) {
    std::vector<uint16_t> bits(rows.size());
    std::minstd_rand random(1);
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = FloatToBf16(static_cast<float>(random()) * 0x1p-36f - 0x1p-6f);
      rows[i] = Bf16ToFloat(bits[i]);
    }
    float32.SetRowsBf16(pool, 0, shape.n, bits.data());
    bf16.SetRowsBf16(pool, 0, shape.n, bits.data());
  }

  std::vector<float> rows;
  PackedMatrix float32;
  PackedMatrix bf16;
};

struct Times {
  double openblas = 0;
  double float32 = 0;
  double bf16 = 0;
};

Times Measure(const Shape& shape, int64_t m, const std::vector<std::unique_ptr<Weights>>& copies,
              ThreadPool& pool) {
  const KernelTable& kernels = KernelsFor(DetectSimdLevel());
  GemmWorkspace workspace;
  std::vector<float> x(static_cast<size_t>(m * shape.k), 0.5f);
  std::vector<float> out(static_cast<size_t>(m * shape.n));
  const auto blas = [&](const Weights& w) {
    const int n = static_cast<int>(shape.n), k = static_cast<int>(shape.k);
    if (m == 1) {
      cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0f, w.rows.data(), k, x.data(), 1, 0.0f,
                  out.data(), 1);
    } else {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(m), n, k, 1.0f,
                  x.data(), k, w.rows.data(), k, 0.0f, out.data(), n);
    }
  };
  const auto ours = [&](const PackedMatrix& w) {
    Gemm(kernels, pool, x.data(), m, w, Rounding::kNone, out.data(), workspace);
  };
  const clockid_t clock = pool.num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  Times best{1e9, 1e9, 1e9};
  size_t next = 0;
  const auto weights = [&]() -> const Weights& { return *copies[next++ % copies.size()]; };
  const int inner = m == 1 ? 8 : 1;
  const auto each = [&](const std::function<void(const Weights&)>& call) {
    return SecondsOf(clock,
                     [&] {
                       for (int i = 0; i < inner; ++i) call(weights());
                     }) /
           inner;
  };
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    best.openblas = std::min(best.openblas, each(blas));
    best.float32 = std::min(best.float32, each([&](const Weights& w) { ours(w.float32); }));
    best.bf16 = std::min(best.bf16, each([&](const Weights& w) { ours(w.bf16); }));
  }
  return best;
}

void Print(const std::string& name, int64_t m, const Times& t, double gflop) {
  std::printf("%-8s M=%-5ld OpenBLAS %9.3f ms  float32 %9.3f ms  bf16 %9.3f ms  ratio %5.2f %5.2f",
              name.c_str(), static_cast<long>(m), t.openblas * 1e3, t.float32 * 1e3, t.bf16 * 1e3,
              t.openblas / t.float32, t.openblas / t.bf16);
  std::printf("  GFLOP/s %6.1f %6.1f %6.1f\n", gflop / t.openblas, gflop / t.float32,
              gflop / t.bf16);
}

void Run(int num_threads, const std::vector<int64_t>& row_counts) {
  openblas_set_num_threads(num_threads);
  ThreadPool pool(num_threads);
  std::vector<Times> layer(row_counts.size());
  std::vector<double> layer_gflop(row_counts.size());
  for (const Shape& shape : kShapes) {
    const int64_t copy_bytes = shape.n * shape.k * int64_t{4};
    std::vector<std::unique_ptr<Weights>> copies;
    for (int64_t bytes = 0; bytes < kWeightBytes; bytes += copy_bytes) {
      copies.push_back(std::make_unique<Weights>(shape, pool));
    }
    for (size_t i = 0; i < row_counts.size(); ++i) {
      const int64_t m = row_counts[i];
      if (!shape.in_layer && m > 64) continue;
      const Times times = Measure(shape, m, copies, pool);
      const double gflop = 2e-9 * static_cast<double>(m * shape.n * shape.k);
      Print(shape.name, m, times, gflop);
      if (!shape.in_layer) continue;
      layer[i].openblas += times.openblas;
      layer[i].float32 += times.float32;
      layer[i].bf16 += times.bf16;
      layer_gflop[i] += gflop;
    }
  }
  for (size_t i = 0; i < row_counts.size(); ++i) {
    Print("layer", row_counts[i], layer[i], layer_gflop[i]);
  }
}

}  // namespace
}  // namespace detcheck::cpu

int main(int argc, char** argv) {
  const int num_threads = argc > 1 ? std::atoi(argv[1]) : 0;
  std::vector<int64_t> row_counts;
  for (int i = 2; i < argc; ++i) row_counts.push_back(std::atol(argv[i]));
  if (row_counts.empty()) row_counts = {1, 2, 4, 8, 16, 32, 64, 256, 1024};
  detcheck::cpu::Run(num_threads > 0 ? num_threads : detcheck::cpu::ThreadPool(0).num_threads(),
                     row_counts);
}
