// What the operations around the GPU's products and attention cost, in the Qwen3-8B shape: JSON
// lines. Row operations: microseconds of one launch within a CUDA graph, and the rate of the bytes
// that it must move. Sampler and digests: microseconds of a call, as the host sees them. Weights
// from a seed: the rate at which they are written. Medians.
//
//   rows_cost [ROUNDS]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/logit_digest.h"
#include "engine/embedded/cuda/row_kernels.h"
#include "engine/embedded/cuda/sampler.h"
#include "engine/embedded/cuda/synthetic_fill.h"
#include "tests/bench/timed_graph.h"

namespace detcheck::cuda {
namespace {

constexpr AttentionShape kShape = {32, 8, 128};
constexpr int kHidden = 4096;
constexpr int kIntermediate = 12288;
constexpr int kVocabSize = 151936;
constexpr int kMaxRows = 8192;
constexpr int kMostLogitRows = 128;
constexpr float kEps = 1e-6f;

/// Device memory that all operations share, filled with values of usual size.
struct Memory {
  DeviceBuffer a{size_t{kMaxRows} * 2 * kIntermediate * 2};
  DeviceBuffer b{size_t{kMaxRows} * 2 * kIntermediate * 2};
  DeviceBuffer floats{size_t{1} << 26};  // Gains, and tables of RoPE.
  DeviceBuffer indices{size_t{kMaxRows} * 4};
  DeviceBuffer logits{size_t{kMostLogitRows} * kVocabSize * 4};

  explicit Memory(cudaStream_t stream) {
    for (const DeviceBuffer* buffer : {&a, &b}) {
      FillSynthetic({1, 0, 0.0f, SyntheticTensor::ScaleOf(1.0)},
                    static_cast<int64_t>(buffer->num_bytes() / 2), buffer->as<__nv_bfloat16>(),
                    stream);
    }
    // Pairs of bf16 are floats of usual size too: the upper half has sign and exponent.
    FillSynthetic({2, 0, 0.0f, SyntheticTensor::ScaleOf(3.0)},
                  static_cast<int64_t>(logits.num_bytes() / 2), logits.as<__nv_bfloat16>(), stream);
    DETCHECK_CUDA(cudaMemsetAsync(floats.as<char>(), 0, floats.num_bytes(), stream));
    std::vector<int32_t> ascending(kMaxRows);
    for (int i = 0; i < kMaxRows; ++i) ascending[static_cast<size_t>(i)] = i;
    DETCHECK_CUDA(cudaMemcpyAsync(indices.as<int32_t>(), ascending.data(), indices.num_bytes(),
                                  cudaMemcpyHostToDevice, stream));
    DETCHECK_CUDA(cudaStreamSynchronize(stream));
  }
};

/// Microseconds of one `launch`, within a graph of ten.
double TimeInGraph(const std::function<void()>& launch, int rounds, cudaStream_t stream) {
  TimedGraph graph(
      10, [&](int) { launch(); }, stream);
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(graph.Time());
  return Median(times);
}

/// Microseconds of a call that waits for the device.
double TimeCall(const std::function<void()>& call, int rounds) {
  call();
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  return Median(times);
}

void PrintRow(const char* name, int num_rows, double bytes_per_row, double microseconds) {
  std::printf("{\"operation\": \"%s\", \"rows\": %d, \"us\": %.2f, \"gb_per_s\": %.0f}\n", name,
              num_rows, microseconds, bytes_per_row * num_rows / microseconds / 1e3);
  std::fflush(stdout);
}

void MeasureRowKernels(const Memory& memory, int num_rows, int rounds, cudaStream_t stream) {
  auto* a = memory.a.as<__nv_bfloat16>();
  auto* b = memory.b.as<__nv_bfloat16>();
  __nv_bfloat16* c = b + int64_t{kMaxRows} * kIntermediate;
  const auto* floats = memory.floats.as<float>();
  const auto* indices = memory.indices.as<int32_t>();
  const auto measure = [&](const char* name, double bytes_per_row, const auto& launch) {
    PrintRow(name, num_rows, bytes_per_row, TimeInGraph(launch, rounds, stream));
  };
  measure("embed", 2.0 * 2 * kHidden, [&] { Embed(a, indices, num_rows, kHidden, b, stream); });
  measure("add_rms_norm", 4.0 * 2 * kHidden,
          [&] { AddRmsNorm(a, b, floats, kEps, num_rows, kHidden, c, stream); });
  const double kv_bytes = 2.0 * 2 * kShape.num_kv_heads * kShape.head_dim;
  measure("rope_and_write_kv", 2.0 * 2 * kShape.qkv_width(), [&] {
    RopeAndWriteKv(kShape, {floats, floats}, floats, floats, kEps, indices, indices, num_rows, a,
                   {b, b + int64_t{kMaxRows} * static_cast<int64_t>(kv_bytes), kMaxRows}, stream);
  });
  measure("silu_mul", 3.0 * 2 * kIntermediate,
          [&] { SiluMul(a, num_rows, kIntermediate, b, stream); });
  measure("select_rows", 3.0 * 2 * kHidden,
          [&] { SelectRows(a, b, indices, num_rows, kHidden, c, stream); });
}

void MeasureSampler(const Memory& memory, int num_rows, int rounds, cudaStream_t stream) {
  const auto sampler = MakeSampler(kMostLogitRows, kVocabSize);
  const auto measure = [&](const char* name, double temperature, int top_k, double top_p,
                           int num_top) {
    std::vector<RowSampling> how(static_cast<size_t>(num_rows));
    for (RowSampling& row : how) {
      row.sampling.temperature = temperature;
      row.sampling.top_k = top_k;
      row.sampling.top_p = top_p;
      row.num_top = num_top;
    }
    const double us =
        TimeCall([&] { sampler->Sample(memory.logits.as<float>(), how, stream); }, rounds);
    PrintRow(name, num_rows, 4.0 * kVocabSize, us);
  };
  measure("greedy", 0.0, -1, 1.0, -1);
  measure("greedy_5_logprobs", 0.0, -1, 1.0, 5);
  measure("greedy_64_logprobs", 0.0, -1, 1.0, 64);
  measure("temperature_1", 1.0, -1, 1.0, -1);
  measure("top_k_50", 1.0, 50, 1.0, -1);
  measure("top_p_0.9", 0.8, -1, 0.9, -1);
  measure("top_k_50_top_p_0.9_5_logprobs", 0.8, 50, 0.9, 5);
}

void Measure(int rounds) {
  const Stream stream;
  const Memory memory(stream.get());
  DeviceBuffer scratch;  // Of the digests.
  for (const int num_rows : {1, 8, 32, 128, 1024, kMaxRows}) {
    MeasureRowKernels(memory, num_rows, rounds, stream.get());
  }
  for (const int num_rows : {1, 8, 32, kMostLogitRows}) {
    MeasureSampler(memory, num_rows, rounds, stream.get());
    const double us = TimeCall(
        [&] {
          DigestRows(memory.logits.as<float>(), num_rows, kVocabSize, &scratch, stream.get());
        },
        5);
    PrintRow("digest", num_rows, 4.0 * kVocabSize, us);
  }
  const double us = TimeInGraph(
      [&] {
        FillSynthetic({1, 0, 0.0f, 1.0f}, static_cast<int64_t>(memory.a.num_bytes() / 2),
                      memory.a.as<__nv_bfloat16>(), stream.get());
      },
      5, stream.get());
  PrintRow("synthetic_fill", 1, static_cast<double>(memory.a.num_bytes()), us);
}

}  // namespace
}  // namespace detcheck::cuda

int main(int argc, char** argv) {
  try {
    detcheck::cuda::Measure(argc > 1 ? std::atoi(argv[1]) : 50);
  } catch (const detcheck::Error& error) {
    std::fprintf(stderr, "rows_cost: %s\n", error.what());
    return 4;
  }
  return 0;
}
