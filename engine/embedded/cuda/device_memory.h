#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace detcheck::cuda {

/// Device memory of its own. Movable. Errors of all classes here: Error(kDevice).
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Not initialised. Where there is not so much, the error tells how much there is.
  explicit DeviceBuffer(size_t num_bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept { Swap(&other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    Swap(&other);
    return *this;
  }
  ~DeviceBuffer();

  size_t num_bytes() const { return num_bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void Swap(DeviceBuffer* other) {
    std::swap(data_, other->data_);
    std::swap(num_bytes_, other->num_bytes_);
  }

  void* data_ = nullptr;
  size_t num_bytes_ = 0;
};

/// Page-locked host memory of its own, for copies that run beside the host. Movable.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(size_t num_bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept { std::swap(data_, other.data_); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedBuffer();

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// A stream of its own.
class Stream {
 public:
  Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  cudaStream_t get() const { return stream_; }
  /// Waits for all work on it.
  void Synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// An event of its own, with time stamps.
class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void Record(cudaStream_t stream);
  void Synchronize() const;
  /// Milliseconds from `begin` to this one; both must have been reached.
  float MillisecondsSince(const Event& begin) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace detcheck::cuda
