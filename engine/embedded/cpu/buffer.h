#pragma once

#include <cstdint>

namespace detcheck::cpu {

/// Owned bytes, zero-filled, aligned to a cache line; to a huge page, and asking for such pages,
/// where they would fill one. Move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t num_bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() { return data_; }
  const void* data() const { return data_; }
  int64_t num_bytes() const { return num_bytes_; }

 private:
  void* data_ = nullptr;
  int64_t num_bytes_ = 0;
};

}  // namespace detcheck::cpu
