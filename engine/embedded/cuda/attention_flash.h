#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention.h"
#include "engine/embedded/cuda/attention_work.h"

/// Kernels of the `flash` backend. head_dim is 32, 64 or 128.
namespace detcheck::cuda::flash {

/// What all of its kernels are given for one layer. Addresses are on the device.
struct LayerArgs {
  const __nv_bfloat16* qkv = nullptr;
  __nv_bfloat16* out = nullptr;
  KvLayer kv;
  const int32_t* slot_table = nullptr;
  int num_kv_heads = 0;
  int group = 0;
  int qkv_width = 0;
  int out_width = 0;
  float scale = 0.0f;  ///< log2(e) / sqrt(E)
};

/// States of decode units, (maximum, sum) and output [E], at index [KV head][partial row].
struct Partials {
  float2* max_sum = nullptr;
  float* output = nullptr;
  int64_t rows = 0;  ///< Of each KV head.
};

struct DecodeArgs {
  LayerArgs layer;
  const FlashCounts* counts = nullptr;
  const DecodeUnit* units = nullptr;
  int max_units = 0;  ///< Elements of `units`, whatever their number in use.
  /// Rows of `out`, padding included; 0 where there is none. Those from the number of decoded rows
  /// on are set to zero.
  int padded_rows = 0;
  Partials partials;
  /// Counters, zero before and after each launch: pairs handed out, and for each decoded sequence
  /// and KV head its units with partial results.
  unsigned* next_pair = nullptr;
  unsigned* num_stored = nullptr;
};

struct PrefillArgs {
  LayerArgs layer;
  const PrefillTile* tiles = nullptr;
  int num_tiles = 0;
  int split = 0;  ///< Keys after which a fresh softmax starts; a multiple of kKeyBlock.
};

/// Lets the kernel have the shared memory that it needs; once, before the others.
void PrepareDecodeKernel(int head_dim);

/// Blocks of threads of the decode kernel that run at once on the current device.
int DecodeWorkers(int head_dim);

/// Writes `out` of the decoded rows: `num_workers` blocks of threads take the units in turn.
/// Launches with the same counters must not run at the same time.
void LaunchDecode(int head_dim, const DecodeArgs& args, int num_workers, cudaStream_t stream);

/// Writes `out` of the tiles' rows.
using PrefillLauncher = void (*)(const PrefillArgs& args, cudaStream_t stream);

/// The fastest prefill kernel that the current device and build have; all give the same bits.
PrefillLauncher PreparePrefill(int head_dim);

/// The kernel with wgmma; null where the device, the build or the head_dim has none.
PrefillLauncher PrepareWgmmaPrefill(int head_dim);
/// The kernel with mma.
PrefillLauncher PrepareMmaPrefill(int head_dim);

}  // namespace detcheck::cuda::flash
