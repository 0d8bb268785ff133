#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "engine/base/rng.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/weights_dtype.h"

/// What tests of kernels share: arrays to and from the device, values as bits.
namespace detcheck::cuda {

/// Elements of T in device memory, copied from and to the host at once.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values)
      : size_(values.size()), buffer_(values.size() * sizeof(T)) {
    DETCHECK_CUDA(cudaMemcpy(data(), values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    DETCHECK_CUDA(cudaDeviceSynchronize());  // Streams of ours do not wait for the default one.
  }

  T* data() const { return buffer_.as<T>(); }
  size_t size() const { return size_; }

  /// Waits for the device.
  std::vector<T> Read() const {
    std::vector<T> values(size_);
    DETCHECK_CUDA(cudaDeviceSynchronize());
    DETCHECK_CUDA(cudaMemcpy(values.data(), data(), size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  size_t size_;
  DeviceBuffer buffer_;
};

/// Roughly normal values of the given standard deviation.
inline std::vector<float> NormalValues(size_t count, double deviation, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += rng.Unit();
    value = static_cast<float>(sum * deviation);
  }
  return values;
}

inline std::vector<uint16_t> Bf16Bits(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(Bf16FromFloat(value));
  return bits;
}

inline std::vector<float> Widened(std::span<const uint16_t> bits) {
  std::vector<float> values;
  for (const uint16_t b : bits) values.push_back(FloatFromBf16(b));
  return values;
}

inline std::vector<uint16_t> NormalBf16(size_t count, double deviation, uint64_t seed) {
  return Bf16Bits(NormalValues(count, deviation, seed));
}

inline uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

}  // namespace detcheck::cuda
