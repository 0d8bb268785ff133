#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/gemm.h"

/// Data for trying matrix products, made and compared on the device.
namespace detcheck::cuda {

/// out[i] = a number in [-1, 1) that depends on `seed` and i alone, rounded to bf16.
void FillRandom(int64_t count, uint32_t seed, __nv_bfloat16* out, cudaStream_t stream);

/// Rows that are known: `num_rows` of `width` values, each at a multiple of `stride`.
template <typename T>
struct RowTable {
  T* rows = nullptr;
  int num_rows = 0;
  int64_t width = 0;
  int64_t stride = 0;
};

/// out[r, :] = row r % table.num_rows of the table, for r < num_rows; rows of out are packed.
void RepeatRows(const RowTable<const __nv_bfloat16>& table, int num_rows, __nv_bfloat16* out,
                cudaStream_t stream);

/// Adds to *count the number of elements of out[num_rows, width] (packed) whose bits differ from
/// those of row r % expected.num_rows, rounded to the type of out.
void CountDifferences(const void* out, GemmOutput output, int num_rows,
                      const RowTable<const float>& expected, uint32_t* count, cudaStream_t stream);

}  // namespace detcheck::cuda
