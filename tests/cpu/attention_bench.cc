// Attention of both modes side by side: attention_bench [threads]. Microseconds of processor time
// per layer, the least of several interleaved runs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>

#include "engine/base/rng.h"
#include "engine/embedded/cpu/attention.h"
#include "engine/embedded/cpu/cpu_ops_verify.h"
#include "engine/embedded/cpu/default_attention.h"

namespace detcheck::cpu {
namespace {

double ProcessMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

struct Case {
  const char* name;
  int num_heads, num_kv_heads, head_dim;
  int num_sequences, start_pos, num_tokens;
};

ModelConfig ConfigOf(const Case& c) {
  ModelConfig config;
  config.num_layers = 1;
  config.num_heads = c.num_heads;
  config.num_kv_heads = c.num_kv_heads;
  config.head_dim = c.head_dim;
  return config;
}

template <typename Fn>
double LeastOf(int repeats, const Fn& fn) {
  double least = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double begin = ProcessMicroseconds();
    fn();
    least = std::min(least, ProcessMicroseconds() - begin);
  }
  return least;
}

void Compare(const Case& c, int num_threads) {
  const ModelConfig config = ConfigOf(c);
  const KernelTable& kernels = KernelsFor(DetectSimdLevel());
  ThreadPool pool(num_threads);
  const int length = c.start_pos + c.num_tokens;
  const int stride = (length + 15) / 16 * 16;
  KvCache cache(config, stride * c.num_sequences);
  std::vector<int32_t> slots(static_cast<size_t>(stride * c.num_sequences));
  std::iota(slots.begin(), slots.end(), 0);
  StepBatch batch;
  for (int s = 0; s < c.num_sequences; ++s) {
    batch.sequences.push_back(
        {s * c.num_tokens, c.num_tokens, c.start_pos, slots.data() + s * stride});
  }
  batch.ids.resize(static_cast<size_t>(c.num_sequences * c.num_tokens));
  Rng rng(1);
  std::vector<float> qkv(batch.ids.size() * static_cast<size_t>(config.qkv_width()));
  for (float& x : qkv) x = static_cast<float>(rng.Unit() - 0.5);
  for (const int32_t slot : slots) {
    for (int g = 0; g < c.num_kv_heads; ++g) {
      kernels.attention.write_kv(cache.Plane(0, g), slot, qkv.data(), qkv.data() + c.head_dim);
    }
  }
  std::vector<float> out(batch.ids.size() * static_cast<size_t>(config.q_width()));
  StepKeys keys;
  keys.BeginStep(batch);
  SplitAttention split(config, kernels, Rounding::kBf16, &pool);
  ShapedAttention shaped(config, kernels, Rounding::kBf16, &pool);
  split.BeginStep(batch, keys);
  shaped.BeginStep(batch, keys);
  double split_us = 1e30, shaped_us = 1e30;
  for (int i = 0; i < 10; ++i) {
    split_us =
        std::min(split_us, LeastOf(3, [&] { split.Run(&cache, 0, qkv.data(), out.data()); }));
    shaped_us =
        std::min(shaped_us, LeastOf(3, [&] { shaped.Run(&cache, 0, qkv.data(), out.data()); }));
  }
  const double pairs = static_cast<double>(c.num_sequences) * c.num_tokens *
                       (c.start_pos + 0.5 * (c.num_tokens + 1)) * c.num_heads;
  std::printf(
      "%-12s %4d seq x %4d tokens at %4d: deterministic %9.1f us (%5.1f GFLOP/s)  "
      "default %9.1f us  default / deterministic %.2f\n",
      c.name, c.num_sequences, c.num_tokens, c.start_pos, split_us,
      4e-3 * pairs * c.head_dim / split_us, shaped_us, shaped_us / split_us);
}

void TimeVerification(const Case& c, int num_threads) {
  const ModelConfig config = ConfigOf(c);
  ThreadPool pool(num_threads);
  for (const SimdLevel level : AvailableLevels()) {
    const double us =
        LeastOf(3, [&] { VerifyDeterminism(config, KernelsFor(level), Rounding::kBf16, &pool); });
    std::printf("verification, %s, %s: %.1f ms\n", c.name, SimdLevelName(level), us * 1e-3);
  }
}

}  // namespace
}  // namespace detcheck::cpu

int main(int argc, char** argv) {
  using detcheck::cpu::Case;
  const int num_threads = argc > 1 ? std::atoi(argv[1]) : 1;
  for (const Case& shape : {Case{"qwen3-0.6b", 16, 8, 128, 0, 0, 0},
                            Case{"smollm2", 9, 3, 64, 0, 0, 0}, Case{"tiny", 8, 2, 32, 0, 0, 0}}) {
    for (const auto& [num_sequences, start_pos, num_tokens] : {std::tuple{1, 100, 1},
                                                               {1, 1023, 1},
                                                               {16, 100, 1},
                                                               {16, 1023, 1},
                                                               {1, 4095, 1},
                                                               {1, 0, 256},
                                                               {1, 768, 256},
                                                               {1, 0, 1024},
                                                               {1, 1024, 9}}) {
      Case c = shape;
      c.num_sequences = num_sequences;
      c.start_pos = start_pos;
      c.num_tokens = num_tokens;
      detcheck::cpu::Compare(c, num_threads);
    }
    detcheck::cpu::TimeVerification(shape, num_threads);
  }
  return 0;
}
