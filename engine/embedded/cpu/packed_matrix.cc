#include "engine/embedded/cpu/packed_matrix.h"

#include <algorithm>
#include <bit>

#include "engine/base/error.h"
#include "engine/embedded/cpu/float_format.h"

namespace detcheck::cpu {
namespace {

constexpr int kHalfPanel = kPanelCols / 2;

// The value at [k][col] of a panel. See WeightFormat for the layout.
float GetWeight(const void* panel, WeightFormat format, int64_t k, int64_t col) {
  if (format == WeightFormat::kFloat32) {
    return static_cast<const float*>(panel)[k * kPanelCols + col];
  }
  const uint32_t word = static_cast<const uint32_t*>(panel)[k * kHalfPanel + col % kHalfPanel];
  return std::bit_cast<float>(col < kHalfPanel ? word << 16 : word & 0xffff0000);
}

void SetWeight(void* panel, WeightFormat format, int64_t k, int64_t col, float value) {
  if (format == WeightFormat::kFloat32) {
    static_cast<float*>(panel)[k * kPanelCols + col] = value;
    return;
  }
  uint32_t& word = static_cast<uint32_t*>(panel)[k * kHalfPanel + col % kHalfPanel];
  const uint32_t bits = std::bit_cast<uint32_t>(value) >> 16;
  word = col < kHalfPanel ? (word & 0xffff0000) | bits : (word & 0xffff) | (bits << 16);
}

}  // namespace

PackedMatrix::PackedMatrix(int64_t num_rows, int64_t num_cols, WeightFormat format)
    : num_rows_(num_rows), num_cols_(num_cols), format_(format), buffer_(num_bytes()) {}

template <typename Source, typename Widen>
void PackedMatrix::SetRows(ThreadPool& pool, int64_t first_row, int64_t num_rows,
                           const Source* rows, const Widen& widen) {
  if (first_row < 0 || num_rows < 0 || first_row + num_rows > num_rows_) {
    throw Error(ErrorCode::kInternal, "packed matrix: rows out of range");
  }
  if (num_rows == 0) return;
  const int64_t end_row = first_row + num_rows;
  const int64_t first_panel = first_row / kPanelCols;
  const int64_t end_panel = (end_row - 1) / kPanelCols + 1;
  pool.ParallelFor(end_panel - first_panel, [&](int64_t task) {
    const int64_t panel_row = (first_panel + task) * kPanelCols;
    void* panel = static_cast<char*>(buffer_.data()) + (first_panel + task) * panel_bytes();
    const int64_t begin = std::max(first_row, panel_row);
    const int64_t end = std::min(end_row, panel_row + kPanelCols);
    // A line of every source row at a time, so that neither side is read or written sparsely.
    constexpr int64_t kStep = 32;
    for (int64_t k0 = 0; k0 < num_cols_; k0 += kStep) {
      const int64_t k_end = std::min(k0 + kStep, num_cols_);
      for (int64_t row = begin; row < end; ++row) {
        const Source* source = rows + (row - first_row) * num_cols_;
        for (int64_t k = k0; k < k_end; ++k) {
          SetWeight(panel, format_, k, row - panel_row, widen(source[k]));
        }
      }
    }
  });
}

void PackedMatrix::SetRowsFloat(ThreadPool& pool, int64_t first_row, int64_t num_rows,
                                const float* rows) {
  if (format_ != WeightFormat::kFloat32) {
    throw Error(ErrorCode::kInternal, "packed matrix: float32 weights in a bf16 matrix");
  }
  SetRows(pool, first_row, num_rows, rows, [](float x) { return x; });
}

void PackedMatrix::SetRowsBf16(ThreadPool& pool, int64_t first_row, int64_t num_rows,
                               const uint16_t* rows) {
  SetRows(pool, first_row, num_rows, rows, Bf16ToFloat);
}

void PackedMatrix::SetRowsF16(ThreadPool& pool, int64_t first_row, int64_t num_rows,
                              const uint16_t* rows) {
  if (format_ != WeightFormat::kFloat32) {
    throw Error(ErrorCode::kInternal, "packed matrix: float16 weights in a bf16 matrix");
  }
  SetRows(pool, first_row, num_rows, rows, F16ToFloat);
}

void PackedMatrix::CopyRow(int64_t row, float* out) const {
  const void* panel = Panel(row / kPanelCols, 0);
  for (int64_t k = 0; k < num_cols_; ++k) {
    out[k] = GetWeight(panel, format_, k, row % kPanelCols);
  }
}

}  // namespace detcheck::cpu
