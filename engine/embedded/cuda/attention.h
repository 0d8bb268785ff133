#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/embedded/cuda/step_arrays.h"
#include "engine/embedded/ops.h"

namespace detcheck::cuda {

/// Heads of a model's attention: H query heads share G KV heads, H / G consecutive ones each.
struct AttentionShape {
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;  ///< E

  int group() const { return num_heads / num_kv_heads; }
  int qkv_width() const { return (num_heads + 2 * num_kv_heads) * head_dim; }
};

/// Keys and values of one layer: k and v are each [G][num_slots][E].
struct KvLayer {
  __nv_bfloat16* k = nullptr;
  __nv_bfloat16* v = nullptr;
  int64_t num_slots = 0;
};

/// Causal attention of a step's rows over the paged KV cache: for row r of a sequence at position
/// p, out[r, h] = sum over keys 0 .. p of softmax(q · k / sqrt(E)) · v, rounded to bf16.
class Attention {
 public:
  virtual ~Attention() = default;

  /// Cuts the step into work: fills its own arrays of the arena and uploads them. The caller has
  /// filled the step's arrays on the host before. Called once for all layers.
  virtual void BeginStep(const StepBatch& batch, cudaStream_t stream) = 0;

  /// One layer; qkv [T, (H + 2G)·E] after RoPE, out [T, H·E]. Where the batch has one row of each
  /// sequence, the launches depend on nothing but the number of rows rounded up as a captured graph
  /// has it (`padded_rows`): everything else is read from device memory.
  virtual void Run(const KvLayer& kv, const __nv_bfloat16* qkv, int padded_rows, __nv_bfloat16* out,
                   cudaStream_t stream) = 0;

  /// Constants that its bits depend on: manifest fields under "kernels.".
  virtual Manifest Describe() const = 0;
};

/// Names that MakeAttention takes, the default first.
std::vector<std::string> AttentionBackendNames();

/// `deterministic`: bits of a row depend on its own queries, keys and values alone. Else the work
/// is cut by batch size and occupancy. `step` and `arena` must outlive the result. Kernels take no
/// more shared memory for a block of threads than the device has and `most_shared_bytes` says; no
/// bit depends on it. Throws Error(kUsage) for a name that there is not, and Error(kUnsupported)
/// for a head_dim that the backend has not, or has no kernel for that is so small.
std::unique_ptr<Attention> MakeAttention(const std::string& name, bool deterministic,
                                         const AttentionShape& shape, const StepLimits& limits,
                                         const StepArrays& step, StepArena* arena,
                                         int most_shared_bytes = std::numeric_limits<int>::max());

/// Bytes of the arena that any backend reserves at most.
size_t AttentionArenaBytes(const AttentionShape& shape, const StepLimits& limits);

}  // namespace detcheck::cuda
