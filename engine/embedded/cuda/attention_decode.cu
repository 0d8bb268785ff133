#include <algorithm>

#include "engine/embedded/cuda/attention_decode_loader.cuh"
#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_flash_tile.cuh"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda::flash {
namespace {

/// A warp's part of the unit's 16 rows: the scores of 16 keys of each block, the outputs of some
/// columns, and the row states, which all warps have alike.
template <int E>
struct DecodeWarp {
  static constexpr int kColumnTiles = std::max(E / 8 / kDecodeWarps, 2);
  /// Warps that have columns.
  static constexpr int kColumnWarps = E / 8 / kColumnTiles;

  WarpRows<E, kColumnTiles> rows;
  uint32_t q[E / 16][4];
  int position[2];  ///< Rows beyond the unit's have its last one.

  static __device__ __forceinline__ int Warp() { return static_cast<int>(threadIdx.x) / 32; }
  static __device__ __forceinline__ int Lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ bool HasColumns() { return Warp() < kColumnWarps; }
  static __device__ __forceinline__ int FirstTile() { return Warp() * kColumnTiles; }
  /// Flattened row r of this lane.
  static __device__ __forceinline__ int Row(int r) { return Lane() / 4 + r * 8; }

  __device__ __forceinline__ void Open(const DecodeUnit& unit, int group, uint32_t q_tile) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      position[r] = unit.start_pos + min(Row(r), unit.num_flat_rows - 1) / group;
    }
    const uint32_t first = q_tile + KvTile<E>::Offset(Lane() % 16, Lane() / 16);
#pragma unroll
    for (int k = 0; k < E / 16; ++k) LoadMatrices(first ^ static_cast<uint32_t>(k * 32), q[k]);
    rows.Reset();
  }

  /// One block: its scores and maxima, weights, outputs; two barriers.
  template <int kStages>
  __device__ __forceinline__ void Attend(DecodeShared<E, kStages>* shared, int stage, int first_key,
                                         float scale) {
    const int warp_key = Warp() * 16;
    float s[2][4];
    Scores<E, 2>(SharedAddress(shared->stages[stage].k) + static_cast<uint32_t>(warp_key * E * 2),
                 q, s);
    MaskKeys<2>(first_key + warp_key, position, s);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float max = RowMax<2>(s, r);
      if (Lane() % 4 == 0) shared->maxima[Row(r)][Warp()] = max;
    }
    __syncthreads();
    const uint32_t weights_tile = SharedAddress(shared->weights);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float4 max = *reinterpret_cast<const float4*>(shared->maxima[Row(r)]);
      const BlockUpdate update(rows.max[r], fmaxf(fmaxf(max.x, max.y), fmaxf(max.z, max.w)), scale);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const uint32_t packed =
            PackBf16(update.Weight(s[n][2 * r], scale), update.Weight(s[n][2 * r + 1], scale));
        const uint32_t to = KvTile<kKeyBlock>::Offset(Row(r), Warp() * 2 + n) +
                            static_cast<uint32_t>(Lane() % 4 * 4);
        *reinterpret_cast<uint32_t*>(shared->weights + to) = packed;
      }
      rows.Rescale(r, update);
    }
    __syncthreads();
    if (!HasColumns()) return;
    uint32_t weights[kKeyBlock / 16][4];
    const uint32_t first = weights_tile + KvTile<kKeyBlock>::Offset(Lane() % 16, Lane() / 16);
#pragma unroll
    for (int k = 0; k < kKeyBlock / 16; ++k) {
      LoadMatrices(first ^ static_cast<uint32_t>(k * 32), weights[k]);
    }
    rows.AddValues(SharedAddress(shared->stages[stage].v), FirstTile(), weights);
  }
};

/// Where a flattened row of a unit and a KV head lies in `out`.
__device__ __forceinline__ __nv_bfloat16* OutRow(const LayerArgs& layer, const DecodeUnit& unit,
                                                 int kv_head, int flat, int head_dim) {
  const int64_t row = unit.first_row + flat / layer.group;
  const int head = kv_head * layer.group + flat % layer.group;
  return layer.out + row * layer.out_width + head * head_dim;
}

/// Results of a sequence that is one unit.
template <int E>
__device__ __forceinline__ void StoreRows(const LayerArgs& layer, const DecodeUnit& unit,
                                          int kv_head, const DecodeWarp<E>& warp) {
  if (!warp.HasColumns()) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (warp.Row(r) >= unit.num_flat_rows) continue;
    __nv_bfloat16* out =
        OutRow(layer, unit, kv_head, warp.Row(r), E) + warp.FirstTile() * 8 + warp.Lane() % 4 * 2;
#pragma unroll
    for (int n = 0; n < DecodeWarp<E>::kColumnTiles; ++n) {
      const float sum = warp.rows.total_sum[r];
      *reinterpret_cast<uint32_t*>(out + n * 8) =
          PackBf16(Normalised(warp.rows.total[n][2 * r], sum),
                   Normalised(warp.rows.total[n][2 * r + 1], sum));
    }
  }
}

template <int E>
__device__ __forceinline__ void StorePartials(const Partials& partials, const DecodeUnit& unit,
                                              int kv_head, const DecodeWarp<E>& warp) {
  if (!warp.HasColumns()) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (warp.Row(r) >= unit.num_flat_rows) continue;
    const int64_t index = kv_head * partials.rows + unit.PartialRow(unit.index) + warp.Row(r);
    if (threadIdx.x < 32 && warp.Lane() % 4 == 0) {
      partials.max_sum[index] = make_float2(warp.rows.total_max[r], warp.rows.total_sum[r]);
    }
    float* output = partials.output + index * E + warp.FirstTile() * 8 + warp.Lane() % 4 * 2;
#pragma unroll
    for (int n = 0; n < DecodeWarp<E>::kColumnTiles; ++n) {
      *reinterpret_cast<float2*>(output + n * 8) =
          make_float2(warp.rows.total[n][2 * r], warp.rows.total[n][2 * r + 1]);
    }
  }
}

/// atomicInc that orders all accesses before it, of this thread and of those that it met at a
/// barrier, before all that follow one that sees its value.
__device__ __forceinline__ unsigned OrderedIncrement(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  return before;
}

/// Whether this block of threads was the last to store partial results of a sequence and KV head;
/// then it sees those of all others. The counter wraps to zero.
__device__ __forceinline__ bool IsLastUnit(unsigned* num_stored, int num_units, int* shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto last = static_cast<unsigned>(num_units - 1);
    *shared = OrderedIncrement(num_stored, last) == last;
  }
  __syncthreads();
  return *shared != 0;
}

/// Partial results that a thread loads before it merges them.
constexpr int kMergedLoads = 12;

/// Four columns of a decoded row, from the partial results of its units, merged left to right.
template <int E>
__device__ __forceinline__ uint2 MergedRow(const Partials& partials, const DecodeUnit& unit,
                                           int64_t first, int num_partials, int column,
                                           float scale) {
  float total_max = NegativeInfinity(), total_sum = 0.0f;
  float total[4] = {EmptyOutput(), EmptyOutput(), EmptyOutput(), EmptyOutput()};
  for (int begin = 0; begin < num_partials; begin += kMergedLoads) {
    float2 max_sums[kMergedLoads];
    float4 outputs[kMergedLoads];
#pragma unroll
    for (int i = 0; i < kMergedLoads; ++i) {
      if (begin + i >= num_partials) break;
      const int64_t row = first + int64_t{begin + i} * unit.num_flat_rows;
      max_sums[i] = __ldcg(partials.max_sum + row);
      outputs[i] = __ldcg(reinterpret_cast<const float4*>(partials.output + row * E + column));
    }
#pragma unroll
    for (int i = 0; i < kMergedLoads; ++i) {
      if (begin + i >= num_partials) break;
      const Merge merge(total_max, max_sums[i].x, scale);
      total_max = merge.new_max;
      total_sum = merge(total_sum, max_sums[i].y);
      total[0] = merge(total[0], outputs[i].x);
      total[1] = merge(total[1], outputs[i].y);
      total[2] = merge(total[2], outputs[i].z);
      total[3] = merge(total[3], outputs[i].w);
    }
  }
  return make_uint2(PackBf16(Normalised(total[0], total_sum), Normalised(total[1], total_sum)),
                    PackBf16(Normalised(total[2], total_sum), Normalised(total[3], total_sum)));
}

/// Results of a sequence and KV head whose units are all stored. A row has the units that begin at
/// or before its position.
template <int E>
__device__ __forceinline__ void MergeUnits(const DecodeArgs& args, const DecodeUnit& unit,
                                           int kv_head, int split) {
  for (int i = static_cast<int>(threadIdx.x); i < unit.num_flat_rows * (E / 4);
       i += kDecodeThreads) {
    const int flat = i / (E / 4), column = i % (E / 4) * 4;
    const int num_partials = unit.NumUnitsAt(unit.start_pos + flat / args.layer.group, split);
    const int64_t first = kv_head * args.partials.rows + unit.PartialRow(0) + flat;
    __nv_bfloat16* out = OutRow(args.layer, unit, kv_head, flat, E) + column;
    *reinterpret_cast<uint2*>(out) =
        MergedRow<E>(args.partials, unit, first, num_partials, column, args.layer.scale);
  }
}

template <int E>
__device__ __forceinline__ void ClosePair(const DecodeArgs& args, int pair, int split,
                                          int* is_last_unit, DecodeWarp<E>* warp) {
  const int num_kv_heads = args.layer.num_kv_heads;
  const DecodeUnit unit = args.units[pair / num_kv_heads];
  const int kv_head = pair % num_kv_heads;
  warp->rows.EndSplit(args.layer.scale);
  if (unit.num_units == 1) {
    StoreRows<E>(args.layer, unit, kv_head, *warp);
    return;
  }
  StorePartials<E>(args.partials, unit, kv_head, *warp);
  unsigned* num_stored = args.num_stored + unit.sequence * num_kv_heads + kv_head;
  if (IsLastUnit(num_stored, unit.num_units, is_last_unit)) {
    MergeUnits<E>(args, unit, kv_head, split);
  }
}

/// Padding rows are zeros.
__device__ __forceinline__ void ClearPadding(const DecodeArgs& args) {
  for (int row = args.counts->num_rows + static_cast<int>(blockIdx.x); row < args.padded_rows;
       row += static_cast<int>(gridDim.x)) {
    uint2* out = reinterpret_cast<uint2*>(args.layer.out + int64_t{row} * args.layer.out_width);
    for (int i = static_cast<int>(threadIdx.x); i < args.layer.out_width / 4; i += kDecodeThreads) {
      out[i] = make_uint2(0, 0);
    }
  }
}

/// out of decoded rows: each unit and KV head is worked off by one block of threads; the one that
/// finishes a sequence's last unit merges the sequence's partial results.
/// Launch: any number of blocks of 128 threads. Units and their number are read from device memory:
/// the launch is the same for all steps.
/// Order: as attention_flash_tile.cuh says, over the unit's keys ascending from a split boundary;
/// where a unit has several splits they are merged from left to right, and so are units. Which
/// block takes a unit, when, and which one merges, changes nothing; nor does kStages, how far the
/// copies run ahead. Twin: PrefillKernel.
template <int E, int kStages>
__global__ void __launch_bounds__(kDecodeThreads, 2) DecodeKernel(const DecodeArgs args) {
  extern __shared__ __align__(256) unsigned char memory[];
  auto* shared = reinterpret_cast<DecodeShared<E, kStages>*>(memory);
  DecodeLoader<E, kStages> loader(args, shared);
  if (loader.HasWork()) {
#pragma unroll 1
    for (int stage = 0; stage < kStages - 1; ++stage) {
      loader.Issue(stage);
      loader.Publish();
      __syncthreads();
      loader.Advance();
      __syncthreads();
    }
    const int split = args.counts->decode_split;
    int split_end = 0;
    DecodeWarp<E> warp;
    for (int stage = 0;; stage = (stage + 1) % kStages) {
      loader.Publish();
      WaitCopies<kStages - 2>();
      __syncthreads();
      const BlockTask task = shared->tasks[stage];
      if (task.pair < 0) break;
      // All are done with the stage before.
      loader.Issue((stage + kStages - 1) % kStages);
      loader.Advance();
      if (task.is_first) {
        warp.Open(args.units[task.pair / args.layer.num_kv_heads], args.layer.group,
                  SharedAddress(shared->stages[stage].q));
        split_end = task.key + split;
      }
      if (task.key == split_end) {
        warp.rows.EndSplit(args.layer.scale);
        split_end += split;
      }
      warp.Attend(shared, stage, task.key, args.layer.scale);
      if (task.is_last) ClosePair<E>(args, task.pair, split, &shared->is_last_unit, &warp);
    }
  }
  ClearPadding(args);
}

template <int E, int kStages>
int BlocksPerMultiprocessor() {
  int blocks = 0;
  DETCHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, DecodeKernel<E, kStages>, kDecodeThreads, sizeof(DecodeShared<E, kStages>)));
  return std::max(blocks, 1);
}

template <int E, int kStages>
void Launch(const DecodeArgs& args, int num_workers, cudaStream_t stream) {
  DecodeKernel<E, kStages><<<static_cast<unsigned>(num_workers), kDecodeThreads,
                             sizeof(DecodeShared<E, kStages>), stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

template <int E, int kStages>
DecodeLauncher Prepare() {
  DETCHECK_CUDA(cudaFuncSetAttribute(DecodeKernel<E, kStages>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(sizeof(DecodeShared<E, kStages>))));
  int device = 0, multiprocessors = 0;
  DETCHECK_CUDA(cudaGetDevice(&device));
  DETCHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return {Launch<E, kStages>, multiprocessors * BlocksPerMultiprocessor<E, kStages>()};
}

template <int E>
DecodeLauncher Prepare(Depth depth) {
  return depth == Depth::kDeep ? Prepare<E, DecodeStages<E>(Depth::kDeep)>()
                               : Prepare<E, DecodeStages<E>(Depth::kShallow)>();
}

template <int E>
int SharedBytes(Depth depth) {
  const size_t bytes = depth == Depth::kDeep
                           ? sizeof(DecodeShared<E, DecodeStages<E>(Depth::kDeep)>)
                           : sizeof(DecodeShared<E, DecodeStages<E>(Depth::kShallow)>);
  return static_cast<int>(bytes);
}

}  // namespace

int DecodeSharedBytes(int head_dim, Depth depth) {
  if (head_dim == 32) return SharedBytes<32>(depth);
  if (head_dim == 64) return SharedBytes<64>(depth);
  return SharedBytes<128>(depth);
}

DecodeLauncher PrepareDecode(int head_dim, Depth depth) {
  if (head_dim == 32) return Prepare<32>(depth);
  if (head_dim == 64) return Prepare<64>(depth);
  return Prepare<128>(depth);
}

}  // namespace detcheck::cuda::flash
