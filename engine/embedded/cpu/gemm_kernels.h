#pragma once

#include <cstdint>

#include "engine/embedded/cpu/rounding.h"

namespace detcheck::cpu {

/// Columns (rows of W) in one panel of a packed matrix.
inline constexpr int kPanelCols = 32;

/// How a panel holds its weights, for each k in turn:
enum class WeightFormat {
  kFloat32,  ///< 32 float32 values, column 0 first.
  kBf16,  ///< 16 words of 32 bits; word i has column i in its low half, column 16 + i in its high.
};

/// Bytes that one k of a panel takes.
constexpr int64_t PanelBytesPerK(WeightFormat format) {
  return format == WeightFormat::kFloat32 ? 128 : 64;
}

/// A piece of out[M, N] = X[M, K] W[N, K]^T: some rows, one or more panels of columns, a range of
/// k.
struct GemmTile {
  const float* x;       ///< [k_len, rows]: X transposed.
  const void* w;        ///< The first panel, at the first k.
  int64_t panel_bytes;  ///< From a panel to the next.
  int64_t k_len;        ///< Length of the range of k.
  const float* sums;    ///< [rows, kPanelCols], sums of the k before; or null: start at +0.
  float* out;           ///< [rows, cols], rows `out_stride` floats apart; may be `sums`.
  int64_t out_stride;
  int64_t cols;          ///< Columns wanted: at most kPanelCols times the number of panels.
  Rounding rounding;     ///< Applied to what is stored; kNone while more k is to come.
  const char* prefetch;  ///< Memory wanted soon, anywhere: two cache lines are asked for at each k,
  int64_t prefetch_step;  ///< this many bytes on each time.
};

/// Matrix product kernels of one SIMD level.
/// Order: each output element is one chain of fused multiply-adds over ascending k, started at +0.
/// Stopping a chain at some k and resuming it from float32 memory is exact, and a chain never meets
/// another one, so neither tiles nor lanes nor threads can change its bits.
struct GemmKernels {
  int max_rows;        ///< Most rows in a tile.
  int panels_per_row;  ///< Panels that `row` takes at a time at its best.

  /// One panel, `rows` in 1..max_rows. `sums` are for one panel, so null for `row`.
  void (*tile)(const GemmTile& tile, int rows, WeightFormat format);
  /// One row, any number of panels: bound by reading the weights. Prefetches on its own.
  void (*row)(const GemmTile& tile, WeightFormat format);
  /// Widens `k_len` steps of a bf16 panel to a float32 panel. Exact.
  void (*widen_panel)(const void* bf16_panel, float* panel, int64_t k_len);
  /// out[k, r] = x[r, k] for `rows` rows `x_stride` floats apart. A copy.
  void (*transpose)(const float* x, int64_t x_stride, int rows, int64_t k_len, float* out);
};

}  // namespace detcheck::cpu
