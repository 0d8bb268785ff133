#include <algorithm>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_flash_tile.cuh"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda::flash {
namespace {

/// Shared memory of a warp: stages of one block of keys and values each, 64 KB or 4 stages.
template <int E>
struct DecodeShared {
  static constexpr int kStages = E >= 128 ? 2 : 4;
  static constexpr int kBytes = kStages * 2 * KvTile<E>::kBytes;
};

/// Walks over the blocks of all units that are this warp's: every num_workers-th pair of unit and
/// KV head.
struct BlockCursor {
  int pair;
  int num_pairs;
  int key;
  int key_end;  ///< Of the unit.

  __device__ __forceinline__ void Start(const DecodeArgs& args) {
    num_pairs = args.counts->num_units * args.layer.num_kv_heads;
    Open(args, static_cast<int>(blockIdx.x));
  }
  __device__ __forceinline__ bool AtEnd() const { return pair >= num_pairs; }
  __device__ __forceinline__ bool IsLastBlock() const { return key + kKeyBlock >= key_end; }
  __device__ __forceinline__ const DecodeUnit& Unit(const DecodeArgs& args) const {
    return args.units[pair / args.layer.num_kv_heads];
  }
  __device__ __forceinline__ int KvHead(const DecodeArgs& args) const {
    return pair % args.layer.num_kv_heads;
  }
  /// Whether the next block is another unit's.
  __device__ __forceinline__ bool Next(const DecodeArgs& args) {
    const bool is_last = IsLastBlock();
    if (is_last) {
      Open(args, pair + static_cast<int>(gridDim.x));
    } else {
      key += kKeyBlock;
    }
    return is_last;
  }

 private:
  __device__ __forceinline__ void Open(const DecodeArgs& args, int new_pair) {
    pair = new_pair;
    if (AtEnd()) return;
    key = Unit(args).key_begin;
    key_end = Unit(args).key_end;
  }
};

/// Queues the copies of one block after another, ahead of the computation.
template <int E>
struct BlockLoader {
  BlockCursor cursor;
  const int32_t* table;  ///< Of the unit's slots.
  const __nv_bfloat16* k;
  int slots[2];  ///< Of the block's keys `lane` and `lane` + 32; -1 beyond the unit's end.

  __device__ __forceinline__ void Start(const DecodeArgs& args) {
    cursor.Start(args);
    OpenUnit(args);
  }

  /// The copies of the next block, if there is one, as one group.
  __device__ __forceinline__ void Issue(const DecodeArgs& args, uint32_t k_tile, uint32_t v_tile) {
    if (!cursor.AtEnd()) {
      CopyRows(args.layer.kv.v - args.layer.kv.k, k_tile, v_tile);
      if (cursor.Next(args)) {
        OpenUnit(args);
      } else {
        LoadSlots();
      }
    }
    CommitCopies();
  }

 private:
  __device__ __forceinline__ void OpenUnit(const DecodeArgs& args) {
    if (cursor.AtEnd()) return;
    table = args.layer.slot_table + cursor.Unit(args).slot_offset;
    k = args.layer.kv.k + cursor.KvHead(args) * args.layer.kv.num_slots * E;
    LoadSlots();
  }

  __device__ __forceinline__ void LoadSlots() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int key = cursor.key + static_cast<int>(threadIdx.x) + half * 32;
      slots[half] = key < cursor.key_end ? table[key] : -1;
    }
  }

  __device__ __forceinline__ void CopyRows(int64_t v_minus_k, uint32_t k_tile,
                                           uint32_t v_tile) const {
    constexpr int kChunks = KvTile<E>::kChunks;
    constexpr int kRowsAtOnce = 32 / kChunks;
    const int lane = static_cast<int>(threadIdx.x);
    const int chunk = lane % kChunks;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll 4
      for (int first = 0; first < 32; first += kRowsAtOnce) {
        const int row = first + lane / kChunks;
        const int slot = __shfl_sync(kAllLanes, slots[half], row);
        const __nv_bfloat16* from = k + (static_cast<int64_t>(max(slot, 0)) * E + chunk * 8);
        const uint32_t to = KvTile<E>::Offset(half * 32 + row, chunk);
        CopyChunk(k_tile + to, from, slot >= 0);
        CopyChunk(v_tile + to, from + v_minus_k, slot >= 0);
      }
    }
  }
};

/// Rows of the unit that this lane holds; rows beyond the unit's are zeros at its last position.
template <int E>
__device__ __forceinline__ void OpenUnit(const LayerArgs& layer, const DecodeUnit& unit,
                                         int kv_head, WarpRows<E>* rows) {
  const __nv_bfloat16* queries[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int flat = static_cast<int>(threadIdx.x) / 4 + r * 8;
    const int known = min(flat, unit.num_flat_rows - 1);
    const int token = known / layer.group;
    const int head = kv_head * layer.group + known % layer.group;
    rows->position[r] = unit.start_pos + token;
    const int64_t row = unit.first_row + token;
    queries[r] = flat < unit.num_flat_rows ? layer.qkv + row * layer.qkv_width + head * E : nullptr;
  }
  rows->LoadQueries(queries);
  rows->Reset();
}

template <int E>
__device__ __forceinline__ void StorePartials(const Partials& partials, const DecodeUnit& unit,
                                              int kv_head, const WarpRows<E>& rows) {
  const int lane = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int flat = lane / 4 + r * 8;
    if (flat >= unit.num_flat_rows) continue;
    const int64_t index = kv_head * partials.rows + unit.first_partial + flat;
    if (lane % 4 == 0) {
      partials.max_sum[index] = make_float2(rows.total_max[r], rows.total_sum[r]);
    }
    float* output = partials.output + index * E + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < E / 8; ++n) {
      *reinterpret_cast<float2*>(output + n * 8) =
          make_float2(rows.total[n][2 * r], rows.total[n][2 * r + 1]);
    }
  }
}

/// Partial results of units, each a range of one sequence's keys and a KV head.
/// Launch: any number of blocks of one warp; each takes pairs of unit and KV head in turn. Units
/// and their number are read from device memory: the launch is the same for all steps. Order:
/// WarpRows, over the unit's keys ascending from a split boundary; where a unit has several splits,
/// they are merged from left to right. Which warp takes a unit, and when, changes nothing. Twin:
/// PrefillKernel.
template <int E>
__global__ void __launch_bounds__(32) DecodeKernel(const DecodeArgs args) {
  extern __shared__ __align__(256) unsigned char shared[];
  constexpr int kStages = DecodeShared<E>::kStages;
  constexpr uint32_t kTile = KvTile<E>::kBytes;
  const uint32_t tiles = SharedAddress(shared);
  BlockCursor work;
  work.Start(args);
  if (work.AtEnd()) return;
  BlockLoader<E> loader;
  loader.Start(args);
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) {
    loader.Issue(args, tiles + 2 * stage * kTile, tiles + (2 * stage + 1) * kTile);
  }
  const int split = args.counts->decode_split;
  int split_end = 0;
  bool is_first = true;
  WarpRows<E> rows;
  for (int stage = 0; !work.AtEnd(); stage = (stage + 1) % kStages) {
    if (is_first) {
      OpenUnit<E>(args.layer, work.Unit(args), work.KvHead(args), &rows);
      split_end = work.key + split;
    }
    if (work.key == split_end) {
      rows.EndSplit(args.layer.scale);
      split_end += split;
    }
    WaitCopies<kStages - 1>();
    __syncwarp();
    const uint32_t k_tile = tiles + 2 * stage * kTile;
    rows.Attend(k_tile, k_tile + kTile, work.key, args.layer.scale);
    __syncwarp();
    loader.Issue(args, k_tile, k_tile + kTile);
    if (work.IsLastBlock()) {
      rows.EndSplit(args.layer.scale);
      StorePartials<E>(args.partials, work.Unit(args), work.KvHead(args), rows);
    }
    is_first = work.Next(args);
  }
}

/// Partial results that a thread of the combine kernel loads before it merges them.
constexpr int kCombineLoads = 16;

/// out[row, head] of decoded rows, from their partial results.
/// Launch: grid (rows, query heads), E threads: thread e makes element e. Rows from the number of
/// decoded rows on are padding: zeros.
/// Order: partial results are merged from left to right, up to the last unit that begins at or
/// before the row's position. Twin: WarpRows::EndSplit and the end of PrefillKernel.
template <int E>
__global__ void __launch_bounds__(E) CombineKernel(const DecodeArgs args) {
  const int index = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y);
  const int e = static_cast<int>(threadIdx.x);
  if (index >= args.counts->num_combine_rows) {
    args.layer.out[int64_t{index} * args.layer.out_width + head * E + e] =
        __float2bfloat16_rn(0.0f);
    return;
  }
  const CombineRow row = args.combine_rows[index];
  const int kv_head = head / args.layer.group;
  const int64_t partial =
      kv_head * args.partials.rows + row.first_partial + head % args.layer.group;
  float total_max = NegativeInfinity(), total_sum = 0.0f, total = EmptyOutput();
  for (int first = 0; first < row.num_partials; first += kCombineLoads) {
    float2 max_sums[kCombineLoads];
    float outputs[kCombineLoads];
#pragma unroll
    for (int i = 0; i < kCombineLoads; ++i) {
      if (first + i >= row.num_partials) break;
      const int64_t at = partial + int64_t{first + i} * row.partial_stride;
      max_sums[i] = args.partials.max_sum[at];
      outputs[i] = args.partials.output[at * E + e];
    }
#pragma unroll
    for (int i = 0; i < kCombineLoads; ++i) {
      if (first + i >= row.num_partials) break;
      const Merge merge(total_max, max_sums[i].x, args.layer.scale);
      total_max = merge.new_max;
      total_sum = merge(total_sum, max_sums[i].y);
      total = merge(total, outputs[i]);
    }
  }
  args.layer.out[int64_t{row.row} * args.layer.out_width + head * E + e] =
      __float2bfloat16_rn(Normalised(total, total_sum));
}

template <int E>
void Prepare() {
  DETCHECK_CUDA(cudaFuncSetAttribute(DecodeKernel<E>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     DecodeShared<E>::kBytes));
}

template <int E>
int WorkersPerMultiprocessor() {
  int blocks = 0;
  DETCHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, DecodeKernel<E>, 32,
                                                              DecodeShared<E>::kBytes));
  return std::max(blocks, 1);
}

}  // namespace

void PrepareDecodeKernel(int head_dim) {
  if (head_dim == 32) Prepare<32>();
  if (head_dim == 64) Prepare<64>();
  if (head_dim == 128) Prepare<128>();
}

int DecodeWorkers(int head_dim) {
  int device = 0, multiprocessors = 0;
  DETCHECK_CUDA(cudaGetDevice(&device));
  DETCHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  if (head_dim == 32) return multiprocessors * WorkersPerMultiprocessor<32>();
  if (head_dim == 64) return multiprocessors * WorkersPerMultiprocessor<64>();
  return multiprocessors * WorkersPerMultiprocessor<128>();
}

void LaunchDecode(int head_dim, const DecodeArgs& args, int num_workers, cudaStream_t stream) {
  const unsigned grid = static_cast<unsigned>(num_workers);
  if (head_dim == 32) DecodeKernel<32><<<grid, 32, DecodeShared<32>::kBytes, stream>>>(args);
  if (head_dim == 64) DecodeKernel<64><<<grid, 32, DecodeShared<64>::kBytes, stream>>>(args);
  if (head_dim == 128) DecodeKernel<128><<<grid, 32, DecodeShared<128>::kBytes, stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

void LaunchCombine(int head_dim, const DecodeArgs& args, int num_rows, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(num_rows),
                  static_cast<unsigned>(args.layer.num_kv_heads * args.layer.group));
  if (head_dim == 32) CombineKernel<32><<<grid, 32, 0, stream>>>(args);
  if (head_dim == 64) CombineKernel<64><<<grid, 64, 0, stream>>>(args);
  if (head_dim == 128) CombineKernel<128><<<grid, 128, 0, stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace detcheck::cuda::flash
