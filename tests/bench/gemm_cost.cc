// What deterministic matrix products cost on the GPU: those of one Qwen3-8B layer in both modes,
// interleaved in one process, each as a CUDA graph whose weights rotate through more memory than
// the L2 cache. JSON lines: first the seconds of getting each shape ready in deterministic mode,
// twice (the second time from the cache file), then microseconds per product.
//
//   gemm_cost [ROUNDS]

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/gemm.h"
#include "engine/embedded/cuda/gemm_trial_kernels.h"
#include "tests/bench/timed_graph.h"

namespace detcheck::cuda {
namespace {

constexpr int kMaxM = 8320;  // A chunk of 8,192 tokens beside 128 decoding sequences.

struct NamedShape {
  const char* name;
  GemmShape shape;
};

constexpr std::array kLayer = {
    NamedShape{"qkv", {6144, 4096, GemmOutput::kBf16}},
    NamedShape{"o", {4096, 4096, GemmOutput::kBf16}},
    NamedShape{"gate_up", {24576, 4096, GemmOutput::kBf16}},
    NamedShape{"down", {4096, 12288, GemmOutput::kBf16}},
};
constexpr NamedShape kLmHead = {"lm_head", {151936, 4096, GemmOutput::kFloat32}};
constexpr std::array kMs = {1, 8, 32, 64, 128, 1024, 8192};

/// Products in a row, each with the next copy of the weights.
TimedGraph Products(Gemm* gemm, const GemmShape& shape, int m, int num_products,
                    const DeviceBuffer& x, const DeviceBuffer& w, const DeviceBuffer& out,
                    cudaStream_t stream) {
  const int64_t num_copies =
      static_cast<int64_t>(w.num_bytes() / sizeof(__nv_bfloat16)) / (shape.n * shape.k);
  const auto run = [&](int i) {
    gemm->Run(shape, m, x.as<__nv_bfloat16>(),
              w.as<__nv_bfloat16>() + i % num_copies * shape.n * shape.k, out.as<void>(), stream);
  };
  return TimedGraph(num_products, run, stream);
}

void Prepare(Gemm* gemm, const NamedShape& named, int pass) {
  const auto begin = std::chrono::steady_clock::now();
  gemm->Prepare(named.shape, kMaxM);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("{\"prepare\": \"%s\", \"pass\": %d, \"seconds\": %.3f}\n", named.name, pass,
              seconds.count());
}

struct Cost {
  double default_us = 0;
  double deterministic_us = 0;
};

void Print(const char* name, int m, const Cost& cost) {
  std::printf(
      "{\"shape\": \"%s\", \"m\": %d, \"default_us\": %.2f, \"deterministic_us\": %.2f, "
      "\"ratio\": %.3f}\n",
      name, m, cost.default_us, cost.deterministic_us, cost.deterministic_us / cost.default_us);
  std::fflush(stdout);
}

/// One shape at all M of a layer, added to `layer` by M.
void Measure(const NamedShape& named, int rounds, Gemm* plain, Gemm* deterministic,
             std::array<Cost, kMs.size()>* layer) {
  const GemmShape& shape = named.shape;
  const Stream stream;
  const int64_t w_elements = shape.n * shape.k;
  const int64_t num_copies = std::max<int64_t>(2, 400'000'000 / (2 * w_elements) + 1);
  const auto bytes = [](int64_t elements) { return static_cast<size_t>(elements) * 2; };
  const DeviceBuffer w(bytes(num_copies * w_elements));
  const DeviceBuffer x(bytes(kMaxM * shape.k));
  const DeviceBuffer out(bytes(kMaxM * shape.n));
  FillRandom(num_copies * w_elements, 1, w.as<__nv_bfloat16>(), stream.get());
  FillRandom(kMaxM * shape.k, 2, x.as<__nv_bfloat16>(), stream.get());
  for (size_t i = 0; i < kMs.size(); ++i) {
    const int m = kMs[i];
    const int num_products = m <= 128 ? 40 : (m <= 1024 ? 8 : 2);
    TimedGraph a = Products(plain, shape, m, num_products, x, w, out, stream.get());
    TimedGraph b = Products(deterministic, shape, m, num_products, x, w, out, stream.get());
    a.Time();
    b.Time();
    std::vector<double> a_us;
    std::vector<double> b_us;
    for (int round = 0; round < rounds; ++round) {
      const bool swap = round % 2 == 1;
      (swap ? b_us : a_us).push_back((swap ? b : a).Time());
      (swap ? a_us : b_us).push_back((swap ? a : b).Time());
    }
    const Cost cost = {Median(a_us), Median(b_us)};
    Print(named.name, m, cost);
    (*layer)[i].default_us += cost.default_us;
    (*layer)[i].deterministic_us += cost.deterministic_us;
  }
}

void Run(int rounds) {
  const std::unique_ptr<Gemm> plain = MakeGemm(false);
  std::unique_ptr<Gemm> deterministic;
  for (const int pass : {1, 2}) {
    deterministic = MakeGemm(true);
    for (const NamedShape& named : kLayer) Prepare(deterministic.get(), named, pass);
    Prepare(deterministic.get(), kLmHead, pass);
  }
  std::array<Cost, kMs.size()> layer;
  for (const NamedShape& named : kLayer) {
    plain->Prepare(named.shape, kMaxM);
    Measure(named, rounds, plain.get(), deterministic.get(), &layer);
  }
  for (size_t i = 0; i < kMs.size(); ++i) Print("layer", kMs[i], layer[i]);
}

}  // namespace
}  // namespace detcheck::cuda

int main(int argc, char** argv) {
  try {
    detcheck::cuda::Run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 9);
    return 0;
  } catch (const detcheck::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
