#include "engine/embedded/cpu/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "engine/base/error.h"

namespace detcheck::cpu {
namespace {

constexpr int64_t kCacheLineBytes = 64;
constexpr int64_t kHugePageBytes = int64_t{2} << 20;

}  // namespace

Buffer::Buffer(int64_t num_bytes) : num_bytes_(num_bytes) {
  if (num_bytes == 0) return;
  const bool huge = num_bytes >= kHugePageBytes;
  const int64_t alignment = huge ? kHugePageBytes : kCacheLineBytes;
  const int64_t whole = (num_bytes + alignment - 1) / alignment * alignment;
  data_ = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(whole));
  if (data_ == nullptr) {
    throw Error(ErrorCode::kDevice, "no memory for " + std::to_string(num_bytes) + " bytes");
  }
#if defined(MADV_HUGEPAGE)
  if (huge) madvise(data_, static_cast<size_t>(whole), MADV_HUGEPAGE);  // A wish: may be refused.
#endif
  std::memset(data_, 0, static_cast<size_t>(whole));
}

Buffer::~Buffer() {
  std::free(data_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), num_bytes_(std::exchange(other.num_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(num_bytes_, other.num_bytes_);
  return *this;
}

}  // namespace detcheck::cpu
