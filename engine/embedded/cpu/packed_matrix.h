#pragma once

#include <cstdint>

#include "engine/embedded/cpu/buffer.h"
#include "engine/embedded/cpu/gemm_kernels.h"
#include "engine/embedded/cpu/thread_pool.h"

namespace detcheck::cpu {

/// A weight matrix W[N, K] laid out for Gemm: panels of 32 rows of W, each [K][32], the last one
/// filled up with zeros. Values are kept exactly: the format changes memory and speed, never bits.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// All zeros. kBf16 halves the memory; it takes weights of bf16 only.
  PackedMatrix(int64_t num_rows, int64_t num_cols, WeightFormat format);

  /// Sets rows [first_row, first_row + num_rows) of W from row-major source rows of K values,
  /// widened exactly. A kBf16 matrix takes bf16 only; else throws Error.
  void SetRowsFloat(ThreadPool& pool, int64_t first_row, int64_t num_rows, const float* rows);
  void SetRowsBf16(ThreadPool& pool, int64_t first_row, int64_t num_rows, const uint16_t* rows);
  void SetRowsF16(ThreadPool& pool, int64_t first_row, int64_t num_rows, const uint16_t* rows);

  /// Copies row `row` of W to out[K], as float32: an embedding look-up in a tied output matrix.
  void CopyRow(int64_t row, float* out) const;

  int64_t num_rows() const { return num_rows_; }  ///< N: columns of the product.
  int64_t num_cols() const { return num_cols_; }  ///< K.
  int64_t num_panels() const { return (num_rows_ + kPanelCols - 1) / kPanelCols; }
  WeightFormat format() const { return format_; }
  int64_t panel_bytes() const { return num_cols_ * PanelBytesPerK(format_); }
  int64_t num_bytes() const { return num_panels() * panel_bytes(); }

  /// Panel `panel` at step `k`.
  const void* Panel(int64_t panel, int64_t k) const {
    return static_cast<const char*>(buffer_.data()) + panel * panel_bytes() +
           k * PanelBytesPerK(format_);
  }

 private:
  template <typename Source, typename Widen>
  void SetRows(ThreadPool& pool, int64_t first_row, int64_t num_rows, const Source* rows,
               const Widen& widen);

  int64_t num_rows_ = 0;
  int64_t num_cols_ = 0;
  WeightFormat format_ = WeightFormat::kFloat32;
  Buffer buffer_;
};

}  // namespace detcheck::cpu
