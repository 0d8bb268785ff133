// What deterministic attention costs on the GPU, and how far it is from the hardware: one layer of
// the Qwen3-8B shape in both modes, interleaved in one process, as CUDA graphs whose layers rotate
// through more memory than the L2 cache. JSON lines: microseconds per layer; for decode the rate at
// which keys and values are read, for prefill that of the operations that causal attention needs.
//
//   attention_cost [ROUNDS]

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/gemm_trial_kernels.h"
#include "tests/bench/timed_graph.h"

namespace detcheck::cuda {
namespace {

constexpr AttentionShape kShape = {32, 8, 128};
constexpr int kPageSize = 16;
constexpr StepLimits kLimits = {8192 + 128, 128, 8192};

/// Equal sequences, each with `num_tokens` rows at the end of `num_keys` positions.
struct Cell {
  int num_sequences;
  int num_tokens;
  int num_keys;

  int num_rows() const { return num_sequences * num_tokens; }
  int64_t num_slots() const { return int64_t{num_sequences} * num_keys; }
  /// Of the keys and values of one layer.
  double num_bytes() const { return 4.0 * num_slots() * kShape.num_kv_heads * kShape.head_dim; }
  double num_operations() const {
    const double first = num_keys - num_tokens + 1;
    return 4.0 * kShape.num_heads * kShape.head_dim * num_rows() * (first + num_keys) / 2;
  }
};

constexpr std::array kCells = {Cell{1, 1, 1024},    Cell{1, 1, 8192},    Cell{8, 1, 1024},
                               Cell{8, 1, 8192},    Cell{32, 1, 1024},   Cell{32, 1, 8192},
                               Cell{64, 1, 1024},   Cell{64, 1, 8192},   Cell{128, 1, 1024},
                               Cell{1, 1024, 1024}, Cell{1, 8192, 8192}, Cell{1, 256, 8192},
                               Cell{1, 2048, 8192}};

/// One mode's attention of a cell, timed over several layers.
class LayersGraph {
 public:
  LayersGraph(bool deterministic, const Cell& cell, const DeviceBuffer& cache,
              const DeviceBuffer& qkv, const DeviceBuffer& out, cudaStream_t stream)
      : stream_(stream),
        arena_(AttentionArenaBytes(kShape, kLimits) +
               StepArena::Padded(sizeof(int32_t) * static_cast<size_t>(kLimits.max_rows)) +
               StepArena::Padded(sizeof(int64_t) * static_cast<size_t>(kLimits.max_sequences)) +
               StepArena::Padded(sizeof(int32_t) * static_cast<size_t>(cell.num_slots()))) {
    step_.positions = arena_.Reserve<int32_t>(kLimits.max_rows);
    step_.slot_offsets = arena_.Reserve<int64_t>(kLimits.max_sequences);
    step_.slot_table = arena_.Reserve<int32_t>(cell.num_slots());
    attention_ = MakeAttention("flash", deterministic, kShape, kLimits, step_, &arena_);
    BeginStep(cell);
    const int64_t plane = cell.num_slots() * kShape.num_kv_heads * kShape.head_dim;
    const int64_t num_copies =
        static_cast<int64_t>(cache.num_bytes() / sizeof(__nv_bfloat16)) / (2 * plane);
    const auto run = [&](int layer) {
      __nv_bfloat16* k = cache.as<__nv_bfloat16>() + layer % num_copies * 2 * plane;
      attention_->Run({k, k + plane, cell.num_slots()}, qkv.as<__nv_bfloat16>(), cell.num_rows(),
                      out.as<__nv_bfloat16>(), stream);
    };
    graph_.emplace(cell.num_operations() > 1e11 ? 2 : 20, run, stream);
  }

  /// Microseconds of one layer.
  double Time() { return graph_->Time(); }

 private:
  /// Pages of the sequences are scattered over the pool.
  void BeginStep(const Cell& cell) {
    const int64_t num_pages = cell.num_slots() / kPageSize;
    for (int64_t i = 0; i < cell.num_slots(); ++i) {
      const int64_t page = i / kPageSize * 37 % num_pages;  // 37 and a power of 2: all pages.
      step_.slot_table.host[i] = static_cast<int32_t>(page * kPageSize + i % kPageSize);
    }
    StepBatch batch;
    for (int s = 0; s < cell.num_sequences; ++s) {
      const int64_t offset = int64_t{s} * cell.num_keys;
      const int start = cell.num_keys - cell.num_tokens;
      step_.slot_offsets.host[s] = offset;
      batch.sequences.push_back(
          {s * cell.num_tokens, cell.num_tokens, start, step_.slot_table.host + offset});
      for (int i = 0; i < cell.num_tokens; ++i) {
        step_.positions.host[batch.num_rows()] = start + i;
        batch.ids.push_back(0);
      }
    }
    arena_.Upload(step_.positions, batch.num_rows(), stream_);
    arena_.Upload(step_.slot_offsets, cell.num_sequences, stream_);
    arena_.Upload(step_.slot_table, cell.num_slots(), stream_);
    attention_->BeginStep(batch, stream_);
    arena_.EndUploads(stream_);
  }

  cudaStream_t stream_;
  StepArena arena_;
  StepArrays step_;
  std::unique_ptr<Attention> attention_;
  std::optional<TimedGraph> graph_;
};

void Measure(const Cell& cell, int rounds) {
  const Stream stream;
  const int64_t num_copies = 1 + static_cast<int64_t>(4e8 / cell.num_bytes());
  const auto cache_elements = static_cast<int64_t>(cell.num_bytes() / 2) * num_copies;
  const int64_t qkv_elements = int64_t{cell.num_rows()} * kShape.qkv_width();
  const int64_t out_elements = int64_t{cell.num_rows()} * kShape.num_heads * kShape.head_dim;
  const DeviceBuffer cache(static_cast<size_t>(cache_elements) * 2);
  const DeviceBuffer qkv(static_cast<size_t>(qkv_elements) * 2);
  const DeviceBuffer out(static_cast<size_t>(out_elements) * 2);
  FillRandom(cache_elements, 1, cache.as<__nv_bfloat16>(), stream.get());
  FillRandom(qkv_elements, 2, qkv.as<__nv_bfloat16>(), stream.get());
  std::array<std::unique_ptr<LayersGraph>, 2> modes;
  std::array<std::vector<double>, 2> times;
  for (const size_t mode : {0, 1}) {
    modes[mode] = std::make_unique<LayersGraph>(mode == 1, cell, cache, qkv, out, stream.get());
    modes[mode]->Time();
  }
  for (int round = 0; round < rounds; ++round) {
    const size_t first = static_cast<size_t>(round) % 2;
    for (const size_t mode : {first, 1 - first}) times[mode].push_back(modes[mode]->Time());
  }
  const double plain_us = Median(times[0]), deterministic_us = Median(times[1]);
  const bool decode = cell.num_tokens == 1;
  std::printf(
      "{\"sequences\": %d, \"tokens\": %d, \"keys\": %d, \"default_us\": %.2f, "
      "\"deterministic_us\": %.2f, \"ratio\": %.3f, \"%s\": %.2f}\n",
      cell.num_sequences, cell.num_tokens, cell.num_keys, plain_us, deterministic_us,
      deterministic_us / plain_us, decode ? "read_tb_s" : "tflop_s",
      (decode ? cell.num_bytes() : cell.num_operations()) / deterministic_us * 1e-6);
  std::fflush(stdout);
}

}  // namespace
}  // namespace detcheck::cuda

int main(int argc, char** argv) {
  try {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
    for (const detcheck::cuda::Cell& cell : detcheck::cuda::kCells) {
      detcheck::cuda::Measure(cell, rounds);
    }
    return 0;
  } catch (const detcheck::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
