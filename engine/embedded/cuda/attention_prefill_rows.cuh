#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_flash_tile.cuh"

/// A warp of either prefill kernel: 16 rows of a tile.
namespace detcheck::cuda::flash {

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

  /// Scores of a block of keys, the first at position `first_key`, become weights as mma takes
  /// them; the output is rescaled.
  __device__ __forceinline__ void Weigh(int first_key, float scale, float (&s)[kKeyBlock / 8][4],
                                        uint32_t (&weights)[kKeyBlock / 16][4]) {
    constexpr int kTiles = kKeyBlock / 8;
    MaskKeys<kTiles>(first_key, position, s);
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

}  // namespace detcheck::cuda::flash
