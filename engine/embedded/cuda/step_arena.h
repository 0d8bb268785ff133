#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {

/// One array of a step's input: written on the host, read on the device. Both addresses stay the
/// same for the arena's life, so that captured graphs may read it.
template <typename T>
struct StepArray {
  T* host = nullptr;
  T* device = nullptr;
  int64_t capacity = 0;
};

/// All that the host tells the device about a step, in page-locked memory with a twin on the
/// device. Arrays are reserved once, filled for each step, and copied together.
class StepArena {
 public:
  explicit StepArena(size_t num_bytes);

  /// Throws Error(kInternal) where the arena is too small.
  template <typename T>
  StepArray<T> Reserve(int64_t capacity) {
    const size_t offset = Take(static_cast<size_t>(capacity) * sizeof(T));
    return {reinterpret_cast<T*>(host_.as<std::byte>() + offset),
            reinterpret_cast<T*>(device_.as<std::byte>() + offset), capacity};
  }

  /// Waits until the copies of the step before have been made: host arrays may be written again.
  void BeginStep();

  /// Queues the copy of the first `count` elements of `array`.
  template <typename T>
  void Upload(const StepArray<T>& array, int64_t count, cudaStream_t stream) {
    Copy(array.device, array.host, static_cast<size_t>(count) * sizeof(T), stream);
  }

  /// After the last Upload of a step.
  void EndUploads(cudaStream_t stream);

  /// Bytes that Reserve takes for `num_bytes`.
  static size_t Padded(size_t num_bytes) { return (num_bytes + 255) / 256 * 256; }

 private:
  size_t Take(size_t num_bytes);
  static void Copy(void* to, const void* from, size_t num_bytes, cudaStream_t stream);

  PinnedBuffer host_;
  DeviceBuffer device_;
  size_t num_bytes_ = 0;
  size_t taken_ = 0;
  Event copied_;
  bool recorded_ = false;
};

}  // namespace detcheck::cuda
