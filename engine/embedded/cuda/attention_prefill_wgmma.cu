#include <algorithm>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_prefill_rows.cuh"
#include "engine/embedded/cuda/attention_wgmma.cuh"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda::flash {
namespace {

constexpr int kGroupThreads = 128;
/// Warp groups that compute, 64 rows each; one more copies.
constexpr int kComputeGroups = kPrefillRows / 64;
constexpr int kComputeThreads = kComputeGroups * kGroupThreads;
constexpr int kThreads = kComputeThreads + kGroupThreads;
/// Registers of a thread: multiples of 8, together what the launch has, 168 for each.
constexpr int kComputeRegisters = 232;
constexpr int kCopyRegisters = 40;
static_assert(kComputeRegisters * kComputeThreads + kCopyRegisters * kGroupThreads <=
              168 * kThreads);

/// Stages of one block of keys and values each.
template <int E>
struct WgmmaShared {
  static constexpr int kStages = E >= 128 ? 6 : 8;

  struct Stage {
    unsigned char k[PanelTile<E>::kBytes];
    unsigned char v[PanelTile<E>::kBytes];
  };

  alignas(1024) Stage stages[kStages];
  uint64_t full[kStages];   ///< Arrived: one arrival by each copying thread.
  uint64_t empty[kStages];  ///< Read: one arrival by each computing warp.
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Blocks whose copies are on their way when the one before them is waited for.
constexpr int kBlocksAhead = 3;

/// The tiles of a block of threads, for each KV head: with num_blocks blocks of threads, every one
/// takes one of each num_blocks in turn, in one direction and back, since they are sorted by
/// length.
struct TileCursor {
  const PrefillArgs& args;
  int round = 0;

  __device__ __forceinline__ int Index() const {
    const int num_blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    return round * num_blocks + (round % 2 == 0 ? block : num_blocks - 1 - block);
  }
  __device__ __forceinline__ bool AtEnd() const {
    return Index() >= args.num_tiles * args.layer.num_kv_heads;
  }
  __device__ __forceinline__ const PrefillTile& Tile() const {
    return args.tiles[Index() / args.layer.num_kv_heads];
  }
  __device__ __forceinline__ int KvHead() const { return Index() % args.layer.num_kv_heads; }
};

__device__ __forceinline__ int NumBlocks(const PrefillTile& tile) {
  return (tile.num_keys + kKeyBlock - 1) / kKeyBlock;
}

/// The copying warp group. Stages are filled one after another, over all tiles.
template <int E>
class Copier {
 public:
  __device__ __forceinline__ Copier(const LayerArgs& layer, WgmmaShared<E>* shared)
      : layer_(layer), shared_(shared) {}

  /// A tile's keys and values; those beyond its last row are zeros.
  __device__ __forceinline__ void Copy(const PrefillTile& tile, int kv_head) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first_row = static_cast<int>(threadIdx.x - kComputeThreads) / 32 * 16;
    const int num_keys = tile.num_keys;
    const int32_t* table = layer_.slot_table + tile.slot_offset;
    const __nv_bfloat16* k = layer_.kv.k + kv_head * layer_.kv.num_slots * E + lane % kChunks * 8;
    int key = first_row + lane % 16;
    int slot = key < num_keys ? table[key] : -1;
    for (int block = NumBlocks(tile); block > 0; --block) {
      const int stage = step_ % kStages;
      if (step_ >= kStages) WaitBarrier(&shared_->empty[stage], step_ / kStages - 1);
      CopyRows(k, slot, first_row, &shared_->stages[stage]);
      key += kKeyBlock;
      slot = key < num_keys ? table[key] : -1;
      if (step_ >= kBlocksAhead) {
        WaitCopies<kBlocksAhead>();
        Publish(step_ - kBlocksAhead);
      }
      ++step_;
    }
  }

  /// After the last tile.
  __device__ __forceinline__ void Finish() const {
    WaitCopies<0>();
    for (int step = max(0, step_ - kBlocksAhead); step < step_; ++step) Publish(step);
  }

 private:
  static constexpr int kStages = WgmmaShared<E>::kStages;
  static constexpr int kChunks = E / 8;
  static constexpr int kRowsAtOnce = 32 / kChunks;

  /// `slot`: of the warp's key number lane % 16; -1: none.
  __device__ __forceinline__ void CopyRows(const __nv_bfloat16* k, int slot, int first_row,
                                           typename WgmmaShared<E>::Stage* stage) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int64_t v_minus_k = layer_.kv.v - layer_.kv.k;
    const uint32_t k_tile = SharedAddress(stage->k), v_tile = SharedAddress(stage->v);
#pragma unroll
    for (int i = 0; i < 16; i += kRowsAtOnce) {
      const int row = i + lane / kChunks;
      const int from_slot = __shfl_sync(kAllLanes, slot, row);
      const __nv_bfloat16* from = k + static_cast<int64_t>(max(from_slot, 0)) * E;
      const uint32_t to = PanelTile<E>::Offset(first_row + row, lane % kChunks);
      CopyChunk(k_tile + to, from, from_slot >= 0);
      CopyChunk(v_tile + to, from + v_minus_k, from_slot >= 0);
    }
    CommitCopies();
  }

  /// A stage whose copies have arrived.
  __device__ __forceinline__ void Publish(int step) const {
    PublishToWgmma();
    Arrive(&shared_->full[step % kStages]);
  }

  const LayerArgs& layer_;
  WgmmaShared<E>* shared_;
  int step_ = 0;
};

/// Queues the scores of a block: a chain over E ascending.
template <int E>
__device__ __forceinline__ void QueueScores(const PrefillWarp<E>& warp, uint32_t k_tile,
                                            float (&s)[kKeyBlock / 8][4]) {
#pragma unroll
  for (int k = 0; k < E / 16; ++k) Wgmma<false>(s, warp.q[k], KeyDescriptor<E>(k_tile, k), k > 0);
}

/// Queues the outputs of a block: a chain over the keys ascending, as WarpRows::AddValues.
template <int E>
__device__ __forceinline__ void QueueValues(uint32_t v_tile,
                                            const uint32_t (&weights)[kKeyBlock / 16][4],
                                            PrefillWarp<E>* warp) {
#pragma unroll
  for (int k = 0; k < kKeyBlock / 16; ++k) {
    Wgmma<true>(warp->rows.output, weights[k], ValueDescriptor<E>(v_tile, k), true);
  }
}

/// A computing warp group: one tile, whose first block is in stage number `step`. While the tensor
/// cores add a block's values, the next block's scores are queued behind them.
template <int E>
__device__ __forceinline__ void AttendTile(const LayerArgs& layer, const PrefillTile& tile,
                                           int kv_head, int split, int step,
                                           WgmmaShared<E>* shared) {
  constexpr int kStages = WgmmaShared<E>::kStages;
  PrefillWarp<E> warp;
  warp.Open(layer, tile, kv_head);
  const int end = step + NumBlocks(tile);
  const bool releases = threadIdx.x % 32 == 0;
  int split_end = split;
  float s[kKeyBlock / 8][4] = {};
  WaitBarrier(&shared->full[step % kStages], step / kStages);
  FenceWgmma();
  QueueScores<E>(warp, SharedAddress(shared->stages[step % kStages].k), s);
  CommitWgmma();
#pragma unroll 1
  for (int key = 0; step < end; ++step, key += kKeyBlock) {
    WaitWgmma();
    Settle(s);
    Settle(warp.rows.output);
    if (key > 0 && releases) Arrive(&shared->empty[(step - 1) % kStages]);
    if (key == split_end) {
      warp.rows.EndSplit(layer.scale);
      split_end += split;
    }
    uint32_t weights[kKeyBlock / 16][4];
    warp.Weigh(key, layer.scale, s, weights);
    Settle(s);
    Settle(warp.rows.output);
    FenceWgmma();
    QueueValues<E>(SharedAddress(shared->stages[step % kStages].v), weights, &warp);
    const int next = step + 1;
    if (next < end) {
      WaitBarrier(&shared->full[next % kStages], next / kStages);
      QueueScores<E>(warp, SharedAddress(shared->stages[next % kStages].k), s);
    }
    CommitWgmma();
    warp.rows.AddWeights(weights);
  }
  WaitWgmma();
  Settle(warp.rows.output);
  if (releases) Arrive(&shared->empty[(end - 1) % kStages]);
  warp.rows.EndSplit(layer.scale);
  warp.Store(layer, tile, kv_head);
}

/// out of tiles of up to 128 flattened rows of one sequence and KV head.
/// Launch: any number of blocks of 384 threads, which take tiles and KV heads in turn: two warp
/// groups compute, 64 rows each, one copies ahead. Order: as attention_flash_tile.cuh says, with
/// wgmma in the place of mma, which gives the same bits, a fresh softmax at every multiple of
/// `split`, merged from left to right. Blocks beyond a row's position are identities. Twins:
/// PrefillKernel, DecodeKernel.
template <int E>
__global__ void __launch_bounds__(kThreads, 1) WgmmaPrefillKernel(const PrefillArgs args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto* shared = reinterpret_cast<WgmmaShared<E>*>(memory);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < WgmmaShared<E>::kStages; ++stage) {
      InitBarrier(&shared->full[stage], kGroupThreads);
      InitBarrier(&shared->empty[stage], kComputeThreads / 32);
    }
  }
  __syncthreads();
  TileCursor work{args};
  if (threadIdx.x >= kComputeThreads) {
    GiveRegisters<kCopyRegisters>();
    Copier<E> copier(args.layer, shared);
    for (; !work.AtEnd(); ++work.round) copier.Copy(work.Tile(), work.KvHead());
    copier.Finish();
  } else {
    TakeRegisters<kComputeRegisters>();
    for (int step = 0; !work.AtEnd(); ++work.round) {
      const PrefillTile& tile = work.Tile();
      AttendTile<E>(args.layer, tile, work.KvHead(), args.split, step, shared);
      step += NumBlocks(tile);
    }
  }
}

#else

/// In code for other devices: never launched, and known by its bounds.
template <int E>
__global__ void __launch_bounds__(32, 1) WgmmaPrefillKernel(const PrefillArgs) {}

#endif

template <int E>
bool Prepare(int most_shared_bytes) {
  if (static_cast<int>(sizeof(WgmmaShared<E>)) > most_shared_bytes) return false;
  cudaFuncAttributes attributes;
  DETCHECK_CUDA(cudaFuncGetAttributes(&attributes, WgmmaPrefillKernel<E>));
  if (attributes.maxThreadsPerBlock < kThreads) return false;
  DETCHECK_CUDA(cudaFuncSetAttribute(WgmmaPrefillKernel<E>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(sizeof(WgmmaShared<E>))));
  return true;
}

template <int E>
void Launch(const PrefillArgs& args, cudaStream_t stream) {
  int device = 0, multiprocessors = 0;
  DETCHECK_CUDA(cudaGetDevice(&device));
  DETCHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int grid = std::min(args.num_tiles * args.layer.num_kv_heads, multiprocessors);
  WgmmaPrefillKernel<E>
      <<<static_cast<unsigned>(grid), kThreads, sizeof(WgmmaShared<E>), stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace

PrefillLauncher PrepareWgmmaPrefill(int head_dim, int most_shared_bytes) {
  if (head_dim == 64 && Prepare<64>(most_shared_bytes)) return Launch<64>;
  if (head_dim == 128 && Prepare<128>(most_shared_bytes)) return Launch<128>;
  return nullptr;
}

}  // namespace detcheck::cuda::flash
