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

/// How many keys a kernel holds in shared memory, so that copies run ahead of the computation. No
/// bit of a result depends on it.
enum class Depth { kDeep, kShallow };

/// Bytes of shared memory of one block of threads; host only.
int DecodeSharedBytes(int head_dim, Depth depth);
int MmaPrefillSharedBytes(int head_dim, Depth depth);

/// The deepest with at most `most_bytes`, by one of the functions above; host only. Throws
/// Error(kUnsupported), with the way out, where there is none.
Depth DeepestThatFits(int (*shared_bytes)(int head_dim, Depth depth), int head_dim, int most_bytes);

/// The decode kernel, ready for the current device.
struct DecodeLauncher {
  /// Writes `out` of the decoded rows: `num_workers` blocks of threads take the units in turn.
  /// Launches with the same counters must not run at the same time.
  void (*launch)(const DecodeArgs& args, int num_workers, cudaStream_t stream) = nullptr;
  int num_workers = 0;  ///< Blocks of threads that run at once.
};

DecodeLauncher PrepareDecode(int head_dim, Depth depth);

/// Writes `out` of the tiles' rows.
using PrefillLauncher = void (*)(const PrefillArgs& args, cudaStream_t stream);

/// The fastest prefill kernel that the current device and build have, with at most
/// `most_shared_bytes` for a block of threads; all give the same bits. Throws as DeepestThatFits.
PrefillLauncher PreparePrefill(int head_dim, int most_shared_bytes);

/// The kernel with wgmma; null where the device, the build or the head_dim has none, or it needs
/// more shared memory.
PrefillLauncher PrepareWgmmaPrefill(int head_dim, int most_shared_bytes);
/// The kernel with mma.
PrefillLauncher PrepareMmaPrefill(int head_dim, Depth depth);

}  // namespace detcheck::cuda::flash
