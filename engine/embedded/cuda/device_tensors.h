#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/ops.h"

namespace detcheck::cuda {

/// A bf16 matrix on the device, row-major, not initialised.
class CudaMatrix : public Weight {
 public:
  CudaMatrix(int64_t rows, int64_t cols)
      : rows_(rows),
        cols_(cols),
        buffer_(static_cast<size_t>(rows * cols) * sizeof(__nv_bfloat16)) {}

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  __nv_bfloat16* data() const { return buffer_.as<__nv_bfloat16>(); }

 private:
  int64_t rows_;
  int64_t cols_;
  DeviceBuffer buffer_;
};

/// A float32 vector on the device, not initialised.
class CudaVector : public Weight {
 public:
  explicit CudaVector(size_t len) : buffer_(len * sizeof(float)) {}
  float* data() const { return buffer_.as<float>(); }

 private:
  DeviceBuffer buffer_;
};

/// bf16 rows on the device, zero-filled.
class CudaActivations : public Activations {
 public:
  CudaActivations(int max_rows, int width)
      : max_rows_(max_rows),
        width_(width),
        buffer_(static_cast<size_t>(max_rows) * static_cast<size_t>(width) *
                sizeof(__nv_bfloat16)) {
    DETCHECK_CUDA(cudaMemset(data(), 0, buffer_.num_bytes()));
  }

  void set_num_rows(int num_rows) {
    if (num_rows > max_rows_) {
      throw Error(ErrorCode::kInternal, "activations of " + std::to_string(max_rows_) +
                                            " rows: " + std::to_string(num_rows) + " needed");
    }
    num_rows_ = num_rows;
  }
  int num_rows() const { return num_rows_; }
  int width() const { return width_; }
  __nv_bfloat16* data() const { return buffer_.as<__nv_bfloat16>(); }

 private:
  int max_rows_;
  int width_;
  int num_rows_ = 0;
  DeviceBuffer buffer_;
};

}  // namespace detcheck::cuda
