#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention_work.h"

/// Instructions and shared memory layouts of the `flash` backend.
namespace detcheck::cuda::flash {

inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Shared memory of rows of K, V or Q: E / 8 chunks of 16 bytes each, the chunks of a row permuted
/// so that 8 rows' chunks of one column lie in different banks. Tiles begin at multiples of 256
/// bytes, so that column c of a row lies at the address of column 0 with c * 2 flipped into it.
template <int E>
struct KvTile {
  static constexpr int kChunks = E / 8;
  static constexpr int kBytes = kKeyBlock * E * 2;

  static __device__ __forceinline__ int Permutation(int row) {
    return E >= 64 ? row & 7 : (row >> 1) & 3;
  }
  static __device__ __forceinline__ uint32_t Offset(int row, int chunk) {
    return static_cast<uint32_t>((row * kChunks + (chunk ^ Permutation(row))) * 16);
  }
};

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes, or writes zeros where not `valid` (`from` must be an address all the same).
__device__ __forceinline__ void CopyChunk(uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}

/// What CopyChunkOnce is given: such lines leave the L2 cache first.
__device__ __forceinline__ uint64_t EvictFirst() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// CopyChunk of memory that nothing else will read soon.
__device__ __forceinline__ void CopyChunkOnce(uint32_t to, const void* from, bool valid,
                                              uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to),
               "l"(from), "r"(valid ? 16 : 0), "l"(policy)
               : "memory");
}

/// Copies 4 bytes.
__device__ __forceinline__ void CopyWord(uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits for all but the last kPending groups of this thread's copies.
template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void LoadMatrices(uint32_t address, uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void LoadMatricesTransposed(uint32_t address, uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

/// c[16, 8] += a[16, 16] · b[16, 8].
__device__ __forceinline__ void Mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two floats rounded to bf16, the first in the low half.
__device__ __forceinline__ uint32_t PackBf16(float low, float high) {
  const __nv_bfloat162 packed = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&packed);
}

/// 2^x by the one instruction used everywhere; exp2(0) = 1 and exp2(-inf) = 0 exactly.
__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float NegativeInfinity() {
  return __int_as_float(0xff800000);
}

}  // namespace detcheck::cuda::flash
