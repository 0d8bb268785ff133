#include <algorithm>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_flash_tile.cuh"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda::flash {
namespace {

constexpr int kThreads = kPrefillRows / kWarpRows * 32;
/// Keys between two barriers: more than one block, so that warps need not keep step.
constexpr int kStageKeys = 2 * kKeyBlock;

/// Shared memory: two stages of K and V, and the slots of two stages.
template <int E>
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
template <int E>
struct StageLoader {
  const __nv_bfloat16* k;
  const __nv_bfloat16* v;
  const int32_t* slots;
  int num_keys;
  unsigned char* shared;

  __device__ __forceinline__ void IssueSlots(int stage) const {
    const int i = static_cast<int>(threadIdx.x);
    const int key = stage * kStageKeys + i;
    if (i >= kStageKeys || key >= num_keys) return;
    const uint32_t to = SharedAddress(shared) + PrefillShared<E>::Slots(stage) +
                        static_cast<uint32_t>(i) * sizeof(int32_t);
    CopyWord(to, slots + key);
  }

  /// The slots of the stage must have arrived.
  __device__ __forceinline__ void IssueTiles(int stage) const {
    constexpr int kChunks = KvTile<E>::kChunks;
    constexpr int kRowsAtOnce = kThreads / kChunks;
    const int thread = static_cast<int>(threadIdx.x);
    const int chunk = thread % kChunks;
    const auto* stage_slots =
        reinterpret_cast<const int32_t*>(shared + PrefillShared<E>::Slots(stage));
    const uint32_t base = SharedAddress(shared);
#pragma unroll
    for (int first = 0; first < kStageKeys; first += kRowsAtOnce) {
      const int row = first + thread / kChunks;
      const bool valid = stage * kStageKeys + row < num_keys;
      const int64_t from = static_cast<int64_t>(valid ? stage_slots[row] : 0) * E + chunk * 8;
      const uint32_t to = base + KvTile<E>::Offset(row, chunk);
      CopyChunk(to + PrefillShared<E>::KTile(stage), k + from, valid);
      CopyChunk(to + PrefillShared<E>::VTile(stage), v + from, valid);
    }
  }
};

/// Where a row of the tile is, in the order of lanes: lane / 4 of the warp, plus 8 for r = 1.
struct TileRow {
  bool is_row;
  int position;
  int64_t row;  ///< Of the step.
  int head;

  __device__ __forceinline__ TileRow(const LayerArgs& layer, const PrefillTile& tile, int kv_head,
                                     int r) {
    const int flat = tile.first_flat_row + static_cast<int>(threadIdx.x) / 32 * kWarpRows +
                     static_cast<int>(threadIdx.x) % 32 / 4 + r * 8;
    is_row = flat < tile.num_flat_rows;
    const int known = min(flat, tile.num_flat_rows - 1);
    const int token = known / layer.group;
    head = kv_head * layer.group + known % layer.group;
    position = tile.start_pos + token;
    row = tile.first_row + token;
  }
};

/// Keys up to the position of the warp's last row; 0 where the warp has no row.
__device__ __forceinline__ int NumWarpKeys(const LayerArgs& layer, const PrefillTile& tile) {
  const int first = tile.first_flat_row + static_cast<int>(threadIdx.x) / 32 * kWarpRows;
  if (first >= tile.num_flat_rows) return 0;
  const int last = min(first + kWarpRows, tile.num_flat_rows) - 1;
  return tile.start_pos + last / layer.group + 1;
}

/// A warp's 16 rows, all columns.
template <int E>
struct PrefillWarp {
  WarpRows<E, E / 8> rows;
  uint32_t q[E / 16][4];
  int position[2];

  /// Rows beyond the tile's are zeros at its last position.
  __device__ __forceinline__ void Open(const LayerArgs& layer, const PrefillTile& tile,
                                       int kv_head) {
    const int column = static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const TileRow row(layer, tile, kv_head, r);
      position[r] = row.position;
      const __nv_bfloat16* from = layer.qkv + row.row * layer.qkv_width + row.head * E + column;
#pragma unroll
      for (int k = 0; k < E / 16; ++k) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          q[k][2 * i + r] =
              row.is_row ? *reinterpret_cast<const uint32_t*>(from + k * 16 + i * 8) : 0u;
        }
      }
    }
    rows.Reset();
  }

  /// One block.
  __device__ __forceinline__ void Attend(uint32_t k_tile, uint32_t v_tile, int first_key,
                                         float scale) {
    constexpr int kTiles = kKeyBlock / 8;
    float s[kTiles][4];
    Scores<E, kTiles>(k_tile, q, s);
    MaskKeys<kTiles>(first_key, position, s);
    uint32_t weights[kKeyBlock / 16][4];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const BlockUpdate update(rows.max[r], RowMax<kTiles>(s, r), scale);
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        weights[n / 2][n % 2 * 2 + r] =
            PackBf16(update.Weight(s[n][2 * r], scale), update.Weight(s[n][2 * r + 1], scale));
      }
      rows.Rescale(r, update);
    }
    rows.AddValues(v_tile, 0, weights);
  }

  __device__ __forceinline__ void Store(const LayerArgs& layer, const PrefillTile& tile,
                                        int kv_head) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const TileRow row(layer, tile, kv_head, r);
      if (!row.is_row) continue;
      __nv_bfloat16* out =
          layer.out + row.row * layer.out_width + row.head * E + threadIdx.x % 4 * 2;
#pragma unroll
      for (int n = 0; n < E / 8; ++n) {
        *reinterpret_cast<uint32_t*>(out + n * 8) =
            PackBf16(Normalised(rows.total[n][2 * r], rows.total_sum[r]),
                     Normalised(rows.total[n][2 * r + 1], rows.total_sum[r]));
      }
    }
  }
};

/// out of up to 128 flattened rows of one sequence and KV head, 16 for each warp.
/// Launch: grid tiles x KV heads, 256 threads; K and V of 128 keys at a time are shared by the
/// warps. Order: as attention_flash_tile.cuh says, over all keys ascending, a fresh softmax at
/// every multiple of `split`, merged from left to right. Blocks beyond the last row of a warp are
/// skipped; they would be identities. Twin: DecodeKernel.
template <int E>
__global__ void __launch_bounds__(kThreads, 1) PrefillKernel(const PrefillArgs args) {
  extern __shared__ __align__(256) unsigned char shared[];
  const LayerArgs& layer = args.layer;
  const int kv_head = static_cast<int>(blockIdx.x) % layer.num_kv_heads;
  const PrefillTile* tile = args.tiles + static_cast<int>(blockIdx.x) / layer.num_kv_heads;
  const int64_t plane = kv_head * layer.kv.num_slots * E;
  const StageLoader<E> loader{layer.kv.k + plane, layer.kv.v + plane,
                              layer.slot_table + tile->slot_offset, tile->num_keys, shared};
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
          base + PrefillShared<E>::KTile(stage) + static_cast<uint32_t>(block) * KvTile<E>::kBytes;
      warp.Attend(k_tile, k_tile + PrefillShared<E>::kTileBytes, key, layer.scale);
    }
  }
  warp.rows.EndSplit(layer.scale);
  warp.Store(layer, *tile, kv_head);
}

template <int E>
void Prepare() {
  DETCHECK_CUDA(cudaFuncSetAttribute(PrefillKernel<E>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(PrefillShared<E>::kBytes)));
}

template <int E>
void Launch(const PrefillArgs& args, int num_tiles, cudaStream_t stream) {
  const unsigned grid = static_cast<unsigned>(num_tiles * args.layer.num_kv_heads);
  PrefillKernel<E><<<grid, kThreads, PrefillShared<E>::kBytes, stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace

void PreparePrefillKernel(int head_dim) {
  if (head_dim == 32) Prepare<32>();
  if (head_dim == 64) Prepare<64>();
  if (head_dim == 128) Prepare<128>();
}

void LaunchPrefill(int head_dim, const PrefillArgs& args, int num_tiles, cudaStream_t stream) {
  if (head_dim == 32) Launch<32>(args, num_tiles, stream);
  if (head_dim == 64) Launch<64>(args, num_tiles, stream);
  if (head_dim == 128) Launch<128>(args, num_tiles, stream);
}

}  // namespace detcheck::cuda::flash
