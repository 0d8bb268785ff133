#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention_mma.cuh"
#include "engine/embedded/cuda/attention_work.h"

/// Instructions of compute capability 9.0 alone, for code compiled for sm_90a.
namespace detcheck::cuda::flash {

/// Shared memory of 64 rows of K or V as wgmma reads it: panels of 64 columns, each of rows of 8
/// chunks of 16 bytes, the chunks permuted within 8 rows. Tiles begin at multiples of 1,024 bytes.
template <int E>
struct PanelTile {
  static constexpr int kPanelBytes = kKeyBlock * 128;
  static constexpr int kBytes = E / 64 * kPanelBytes;

  static __device__ __forceinline__ uint32_t Offset(int row, int chunk) {
    return static_cast<uint32_t>(chunk / 8 * kPanelBytes + row * 128 +
                                 ((chunk % 8) ^ (row & 7)) * 16);
  }
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Matrix in panels of 64 columns, its rows permuted; `panel_bytes`: from one panel to the next
/// where the matrix is transposed.
__device__ __forceinline__ uint64_t MatrixDescriptor(uint32_t address, int panel_bytes) {
  constexpr uint64_t kPermuted128 = uint64_t{1} << 62;
  constexpr uint64_t kEightRows = uint64_t{1024 / 16} << 32;
  return kPermuted128 | kEightRows | static_cast<uint64_t>(panel_bytes / 16) << 16 |
         (address >> 4 & 0x3fff);
}

/// Rows of K of one step of 16 columns: number `step` of a tile.
template <int E>
__device__ __forceinline__ uint64_t KeyDescriptor(uint32_t k_tile, int step) {
  const int bytes = step / 4 * PanelTile<E>::kPanelBytes + step % 4 * 32;
  return MatrixDescriptor(k_tile + static_cast<uint32_t>(bytes), 16);
}

/// Rows of V of 16 keys: number `step` of a tile.
template <int E>
__device__ __forceinline__ uint64_t ValueDescriptor(uint32_t v_tile, int step) {
  return MatrixDescriptor(v_tile + static_cast<uint32_t>(step * 16 * 128),
                          PanelTile<E>::kPanelBytes);
}

/// c[64, N] = a[64, 16] · b[16, N], on top of c where it `adds`, by the four warps of a warp group,
/// each with 16 rows in the lanes of mma.m16n8k16: queued, done after WaitWgmma. `b` describes
/// shared memory, [N][16], or [16][N] where kTransposed. An element's arithmetic is that of
/// mma.m16n8k16.
template <bool kTransposed>
__device__ __forceinline__ void Wgmma(float (&c)[8][4], const uint32_t (&a)[4], uint64_t b,
                                      bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %37, 0; "
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
      "%26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, %38; }"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
        "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
        "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
        "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
        "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
        "+f"(c[7][2]), "+f"(c[7][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds ? 1 : 0),
        "n"(kTransposed ? 1 : 0));
}

/// The same for 128 columns.
template <bool kTransposed>
__device__ __forceinline__ void Wgmma(float (&c)[16][4], const uint32_t (&a)[4], uint64_t b,
                                      bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %69, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
      "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "
      "%43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, "
      "%60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, 1, 1, %70; }"
      : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
        "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
        "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
        "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
        "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
        "+f"(c[7][2]), "+f"(c[7][3]), "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]), "+f"(c[8][3]),
        "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]), "+f"(c[10][0]), "+f"(c[10][1]),
        "+f"(c[10][2]), "+f"(c[10][3]), "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]),
        "+f"(c[11][3]), "+f"(c[12][0]), "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]),
        "+f"(c[13][0]), "+f"(c[13][1]), "+f"(c[13][2]), "+f"(c[13][3]), "+f"(c[14][0]),
        "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]), "+f"(c[15][0]), "+f"(c[15][1]),
        "+f"(c[15][2]), "+f"(c[15][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds ? 1 : 0),
        "n"(kTransposed ? 1 : 0));
}

/// Before the first Wgmma after registers that it reads or adds to were written.
__device__ __forceinline__ void FenceWgmma() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void CommitWgmma() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits for all that is queued. Accumulators then go through Settle.
__device__ __forceinline__ void WaitWgmma() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// Keeps uses of accumulators on their side of a wait or fence.
template <int kTiles>
__device__ __forceinline__ void Settle(float (&c)[kTiles][4]) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[n][i])::"memory");
  }
}

/// Makes this thread's copies to shared memory, which have arrived, visible to wgmma.
__device__ __forceinline__ void PublishToWgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int kRegisters>
__device__ __forceinline__ void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// A barrier in shared memory: phase after phase, each complete after as many arrivals as it was
/// made with.
__device__ __forceinline__ void InitBarrier(uint64_t* barrier, int num_arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(num_arrivals)
               : "memory");
}

__device__ __forceinline__ void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}

/// Waits until phase number `phase` is complete; it must be the current or the last one.
__device__ __forceinline__ void WaitBarrier(uint64_t* barrier, int phase) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again%=: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
      "@!done bra again%=; }" ::"r"(SharedAddress(barrier)),
      "r"(phase & 1)
      : "memory");
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace detcheck::cuda::flash
