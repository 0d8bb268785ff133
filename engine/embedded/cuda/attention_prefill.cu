#include <algorithm>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_prefill_rows.cuh"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda::flash {
namespace {

constexpr int kThreads = kPrefillRows / kWarpRows * 32;
/// Keys between two barriers: more than one block, so that warps need not keep step, where there is
/// room for them.
constexpr int StageKeys(Depth depth) {
  return depth == Depth::kDeep ? 2 * kKeyBlock : kKeyBlock;
}

/// Shared memory: two stages of K and V, and the slots of two stages.
template <int E, int kStageKeys>
struct PrefillShared {
  static constexpr uint32_t kTileBytes = kStageKeys * E * 2;
  static constexpr uint32_t kSlotsBytes = kStageKeys * sizeof(int32_t);
  static constexpr uint32_t kSlotsOffset = 4 * kTileBytes;
  static constexpr uint32_t kBytes = kSlotsOffset + 2 * kSlotsBytes;

  static __device__ __forceinline__ uint32_t KTile(int stage) {
    return static_cast<uint32_t>(stage % 2) * 2 * kTileBytes;
  }
  static __device__ __forceinline__ uint32_t VTile(int stage) { return KTile(stage) + kTileBytes; }
  static __device__ __forceinline__ uint32_t Slots(int stage) {
    return kSlotsOffset + static_cast<uint32_t>(stage % 2) * kSlotsBytes;
  }
};

/// Queues the copies of a tile's stages: first the slots of a stage, one stage ahead, then the keys
/// and values that lie there. Keys beyond the tile's last row are zeros.
template <int E, int kStageKeys>
struct StageLoader {
  using Shared = PrefillShared<E, kStageKeys>;

  const __nv_bfloat16* k;
  const __nv_bfloat16* v;
  const int32_t* slots;
  int num_keys;
  unsigned char* shared;

  __device__ __forceinline__ void IssueSlots(int stage) const {
    const int i = static_cast<int>(threadIdx.x);
    const int key = stage * kStageKeys + i;
    if (i >= kStageKeys || key >= num_keys) return;
    const uint32_t to =
        SharedAddress(shared) + Shared::Slots(stage) + static_cast<uint32_t>(i) * sizeof(int32_t);
    CopyWord(to, slots + key);
  }

  /// The slots of the stage must have arrived.
  __device__ __forceinline__ void IssueTiles(int stage) const {
    constexpr int kChunks = KvTile<E>::kChunks;
    constexpr int kRowsAtOnce = kThreads / kChunks;
    const int thread = static_cast<int>(threadIdx.x);
    const int chunk = thread % kChunks;
    const auto* stage_slots = reinterpret_cast<const int32_t*>(shared + Shared::Slots(stage));
    const uint32_t base = SharedAddress(shared);
#pragma unroll
    for (int first = 0; first < kStageKeys; first += kRowsAtOnce) {
      const int row = first + thread / kChunks;
      const bool valid = stage * kStageKeys + row < num_keys;
      const int64_t from = static_cast<int64_t>(valid ? stage_slots[row] : 0) * E + chunk * 8;
      const uint32_t to = base + KvTile<E>::Offset(row, chunk);
      CopyChunk(to + Shared::KTile(stage), k + from, valid);
      CopyChunk(to + Shared::VTile(stage), v + from, valid);
    }
  }
};

/// Keys up to the position of the warp's last row; 0 where the warp has no row.
__device__ __forceinline__ int NumWarpKeys(const LayerArgs& layer, const PrefillTile& tile) {
  const int first = tile.first_flat_row + static_cast<int>(threadIdx.x) / 32 * kWarpRows;
  if (first >= tile.num_flat_rows) return 0;
  const int last = min(first + kWarpRows, tile.num_flat_rows) - 1;
  return tile.start_pos + last / layer.group + 1;
}

/// One block of keys.
template <int E>
__device__ __forceinline__ void Attend(uint32_t k_tile, uint32_t v_tile, int first_key, float scale,
                                       PrefillWarp<E>* warp) {
  float s[kKeyBlock / 8][4];
  Scores<E, kKeyBlock / 8>(k_tile, warp->q, s);
  uint32_t weights[kKeyBlock / 16][4];
  warp->Weigh(first_key, scale, s, weights);
  warp->rows.AddValues(v_tile, 0, weights);
}

/// out of up to 128 flattened rows of one sequence and KV head, 16 for each warp.
/// Launch: grid tiles x KV heads, 256 threads; K and V of kStageKeys keys at a time are shared by
/// the warps. Order: as attention_flash_tile.cuh says, over all keys ascending, a fresh softmax at
/// every multiple of `split`, merged from left to right. Blocks beyond the last row of a warp are
/// skipped; they would be identities. Twins: DecodeKernel,
/// WgmmaPrefillKernel.
template <int E, int kStageKeys>
__global__ void __launch_bounds__(kThreads, 1) PrefillKernel(const PrefillArgs args) {
  using Shared = PrefillShared<E, kStageKeys>;
  extern __shared__ __align__(256) unsigned char shared[];
  const LayerArgs& layer = args.layer;
  const int kv_head = static_cast<int>(blockIdx.x) % layer.num_kv_heads;
  const PrefillTile* tile = args.tiles + static_cast<int>(blockIdx.x) / layer.num_kv_heads;
  const int64_t plane = kv_head * layer.kv.num_slots * E;
  const StageLoader<E, kStageKeys> loader{layer.kv.k + plane, layer.kv.v + plane,
                                          layer.slot_table + tile->slot_offset, tile->num_keys,
                                          shared};
  loader.IssueSlots(0);
  loader.IssueSlots(1);
  CommitCopies();
  PrefillWarp<E> warp;
  warp.Open(layer, *tile, kv_head);
  WaitCopies<0>();
  __syncthreads();
  loader.IssueTiles(0);
  CommitCopies();
  const int num_warp_keys = NumWarpKeys(layer, *tile);
  const uint32_t base = SharedAddress(shared);
  int split_end = args.split;
  for (int stage = 0; stage * kStageKeys < loader.num_keys; ++stage) {
    WaitCopies<0>();
    __syncthreads();
    if ((stage + 1) * kStageKeys < loader.num_keys) {
      loader.IssueTiles(stage + 1);
      loader.IssueSlots(stage + 2);
      CommitCopies();
    }
#pragma unroll 1
    for (int block = 0; block < kStageKeys / kKeyBlock; ++block) {
      const int key = stage * kStageKeys + block * kKeyBlock;
      if (key >= num_warp_keys) break;
      if (key == split_end) {
        warp.rows.EndSplit(layer.scale);
        split_end += args.split;
      }
      const uint32_t k_tile =
          base + Shared::KTile(stage) + static_cast<uint32_t>(block) * KvTile<E>::kBytes;
      Attend<E>(k_tile, k_tile + Shared::kTileBytes, key, layer.scale, &warp);
    }
  }
  warp.rows.EndSplit(layer.scale);
  warp.Store(layer, *tile, kv_head);
}

template <int E, int kStageKeys>
void Launch(const PrefillArgs& args, cudaStream_t stream) {
  const unsigned grid = static_cast<unsigned>(args.num_tiles * args.layer.num_kv_heads);
  PrefillKernel<E, kStageKeys>
      <<<grid, kThreads, PrefillShared<E, kStageKeys>::kBytes, stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

template <int E, int kStageKeys>
PrefillLauncher Prepare() {
  DETCHECK_CUDA(cudaFuncSetAttribute(PrefillKernel<E, kStageKeys>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(PrefillShared<E, kStageKeys>::kBytes)));
  return Launch<E, kStageKeys>;
}

template <int E>
PrefillLauncher Prepare(Depth depth) {
  return depth == Depth::kDeep ? Prepare<E, StageKeys(Depth::kDeep)>()
                               : Prepare<E, StageKeys(Depth::kShallow)>();
}

template <int E>
int SharedBytes(Depth depth) {
  return static_cast<int>(depth == Depth::kDeep
                              ? PrefillShared<E, StageKeys(Depth::kDeep)>::kBytes
                              : PrefillShared<E, StageKeys(Depth::kShallow)>::kBytes);
}

}  // namespace

int MmaPrefillSharedBytes(int head_dim, Depth depth) {
  if (head_dim == 32) return SharedBytes<32>(depth);
  if (head_dim == 64) return SharedBytes<64>(depth);
  return SharedBytes<128>(depth);
}

PrefillLauncher PrepareMmaPrefill(int head_dim, Depth depth) {
  if (head_dim == 32) return Prepare<32>(depth);
  if (head_dim == 64) return Prepare<64>(depth);
  return Prepare<128>(depth);
}

}  // namespace detcheck::cuda::flash
