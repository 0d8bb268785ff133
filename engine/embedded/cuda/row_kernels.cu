#include <limits>
#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/bf16_vector.cuh"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_math.cuh"
#include "engine/embedded/cuda/row_kernels.h"

// Twin in meaning of all kernels here: engine/embedded/cpu/row_kernels.cc and cpu_ops.cc, with the
// same roundings; sums run in another order.

namespace detcheck::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kVector = 8;  // bf16 values of one 16-byte load.
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kMostNormWidth = 16384;  // Of AddRmsNorm: 512 threads, 4 vectors each.

using Vector = Bf16Vector<kVector>;

// 1 / sqrt(sum / n + eps), each operation rounded.
__device__ __forceinline__ float InverseRms(float square_sum, int n, float eps) {
  const float mean = __fdiv_rn(square_sum, static_cast<float>(n));
  return __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(mean, eps)));
}

// out = bf16(bf16(x · inverse_rms) · gain).
template <int kCount>
__device__ __forceinline__ void Normalize(float inverse_rms, const float (&gain)[kCount],
                                          float (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = __fmul_rn(x[i], inverse_rms);
  RoundToBf16(x);
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = __fmul_rn(x[i], gain[i]);
  RoundToBf16(x);
}

// bf16(a + b).
__device__ __forceinline__ Vector Sum(const Vector& a, const Vector& b) {
  float x[kVector];
  float y[kVector];
  a.Widen(x);
  b.Widen(y);
#pragma unroll
  for (int i = 0; i < kVector; ++i) x[i] = __fadd_rn(x[i], y[i]);
  return Vector::Round(x);
}

// The sum over lanes of groups of `group` neighbours: a butterfly, so that every lane has the same
// bits.
__device__ __forceinline__ float GroupSum(float value, int group) {
  for (int mask = group / 2; mask > 0; mask /= 2) {
    value = __fadd_rn(value, __shfl_xor_sync(kAllLanes, value, mask));
  }
  return value;
}

// The sum over the CTA, the same bits in every thread: lanes by butterfly, then warps by butterfly.
__device__ __forceinline__ float CtaSum(float value) {
  __shared__ float warp_sums[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  value = GroupSum(value, kWarp);
  if (lane == 0) warp_sums[threadIdx.x / kWarp] = value;
  __syncthreads();
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  return GroupSum(lane < num_warps ? warp_sums[lane] : 0.0f, kWarp);
}

// Shapes: table [V, D], ids [T], out [T, D]. Launch: one CTA per row.
// Order: element by element.
__global__ void EmbedKernel(const __nv_bfloat16* table, const int32_t* ids, int width,
                            __nv_bfloat16* out) {
  const int64_t row = blockIdx.x;
  const __nv_bfloat16* from = table + static_cast<int64_t>(ids[row]) * width;
  for (int i = static_cast<int>(threadIdx.x) * kVector; i < width;
       i += static_cast<int>(blockDim.x) * kVector) {
    Vector::Load(from + i).Store(out + row * width + i);
  }
}

// Shapes: residual, delta, out [rows, D], gain [D]. Launch: one CTA per row; its threads and the
// vectors of each depend on D alone.
// Order: a thread sums the squares of its values in ascending order with fused multiply-adds,
// vector after vector; then CtaSum. A function of the row and of D.
template <int kVectors>
__global__ void AddRmsNormKernel(__nv_bfloat16* residual, const __nv_bfloat16* delta,
                                 const float* gain, float eps, int width, __nv_bfloat16* out) {
  const int64_t row_offset = static_cast<int64_t>(blockIdx.x) * width;
  const int stride = static_cast<int>(blockDim.x) * kVector;
  const int first = static_cast<int>(threadIdx.x) * kVector;
  float x[kVectors][kVector];
  float weight[kVectors][kVector];
  float squares = 0.0f;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = first + v * stride;
    if (i >= width) break;
    Vector value = Vector::Load(residual + row_offset + i);
    if (delta != nullptr) {
      value = Sum(value, Vector::Load(delta + row_offset + i));
      value.Store(residual + row_offset + i);
    }
    LoadFloats(gain + i, weight[v]);
    value.Widen(x[v]);
#pragma unroll
    for (int j = 0; j < kVector; ++j) squares = __fmaf_rn(x[v][j], x[v][j], squares);
  }
  const float inverse_rms = InverseRms(CtaSum(squares), width, eps);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int i = first + v * stride;
    if (i >= width) break;
    Normalize(inverse_rms, weight[v], x[v]);
    Vector::Round(x[v]).Store(out + row_offset + i);
  }
}

template <int kVectors>
void LaunchAddRmsNorm(__nv_bfloat16* residual, const __nv_bfloat16* delta, const float* gain,
                      float eps, int num_rows, int width, __nv_bfloat16* out, cudaStream_t stream) {
  constexpr int kPerWarp = kWarp * kVector * kVectors;
  const int threads = (width + kPerWarp - 1) / kPerWarp * kWarp;
  AddRmsNormKernel<kVectors>
      <<<num_rows, threads, 0, stream>>>(residual, delta, gain, eps, width, out);
  DETCHECK_CUDA(cudaGetLastError());
}

constexpr int kRopeVector = 4;     // Values of each half of a head that a thread has: halves of
constexpr int kRopeThreads = 128;  // heads are multiples of 4.

struct RopeArguments {
  AttentionShape shape;
  RopeTables rope;
  const float* q_gain;
  const float* k_gain;
  float eps;
  const int32_t* positions;
  const int32_t* slots;
  int num_rows;
  unsigned group;  // Threads of a head: the power of two >= E / 8.
  __nv_bfloat16* qkv;
  KvLayer kv;
};

// RMSNorm of one head of `head_dim` values, of which this thread has 4 of each half.
__device__ __forceinline__ void NormalizeHead(const RopeArguments& args, const float* gain, int i,
                                              bool active, float (&a)[kRopeVector],
                                              float (&b)[kRopeVector]) {
  const int head_dim = args.shape.head_dim;
  float squares = 0.0f;
#pragma unroll
  for (int j = 0; j < kRopeVector; ++j) squares = __fmaf_rn(a[j], a[j], squares);
#pragma unroll
  for (int j = 0; j < kRopeVector; ++j) squares = __fmaf_rn(b[j], b[j], squares);
  const float inverse_rms = InverseRms(GroupSum(squares, args.group), head_dim, args.eps);
  if (!active || gain == nullptr) return;
  float weight[kRopeVector];
  LoadFloats(gain + i, weight);
  Normalize(inverse_rms, weight, a);
  LoadFloats(gain + head_dim / 2 + i, weight);
  Normalize(inverse_rms, weight, b);
}

// Rotates the pairs (a, b): the first product of each is fused, the second rounded.
__device__ __forceinline__ void Rotate(const RopeTables& rope, int64_t offset,
                                       float (&a)[kRopeVector], float (&b)[kRopeVector]) {
  float c[kRopeVector];
  float s[kRopeVector];
  LoadFloats(rope.cos + offset, c);
  LoadFloats(rope.sin + offset, s);
#pragma unroll
  for (int j = 0; j < kRopeVector; ++j) {
    const float first = __fmaf_rn(a[j], c[j], -__fmul_rn(b[j], s[j]));
    b[j] = __fmaf_rn(b[j], c[j], __fmul_rn(a[j], s[j]));
    a[j] = first;
  }
}

// Shapes: qkv [T, (H + 2G)·E], gains [E], tables [context, E / 2]. Launch: `group` threads per head
// of a row, each with 4 values of both halves; heads of all rows one after another. Order: sums of
// squares: a thread's first half, then its second, ascending, fused; then a butterfly over the
// group, lanes past E / 8 giving 0. A function of the head's values and of E.
__global__ void __launch_bounds__(kRopeThreads) RopeKernel(const RopeArguments args) {
  const AttentionShape& shape = args.shape;
  const int half = shape.head_dim / 2;
  const unsigned heads = shape.num_heads + 2 * shape.num_kv_heads;
  const unsigned thread = blockIdx.x * kRopeThreads + threadIdx.x;
  const unsigned index = thread / args.group;
  const int i = static_cast<int>(thread % args.group) * kRopeVector;
  const auto row = static_cast<int>(index / heads);
  const auto head = static_cast<int>(index % heads);
  const bool active = row < args.num_rows && i < half;
  __nv_bfloat16* values =
      args.qkv + (static_cast<int64_t>(row) * heads + head) * shape.head_dim + i;
  const bool is_query = head < shape.num_heads;
  const bool is_value = head >= shape.num_heads + shape.num_kv_heads;

  using Half = Bf16Vector<kRopeVector>;
  float a[kRopeVector] = {};
  float b[kRopeVector] = {};
  if (active) {
    Half::Load(values).Widen(a);
    Half::Load(values + half).Widen(b);
  }
  const float* gain = is_query ? args.q_gain : is_value ? nullptr : args.k_gain;
  NormalizeHead(args, gain, i, active, a, b);
  if (!active) return;
  if (!is_value) {
    Rotate(args.rope, static_cast<int64_t>(args.positions[row]) * half + i, a, b);
    Half::Round(a).Store(values);
    Half::Round(b).Store(values + half);
  }
  if (is_query) return;
  const int kv_head = (head - shape.num_heads) % shape.num_kv_heads;
  __nv_bfloat16* plane = is_value ? args.kv.v : args.kv.k;
  __nv_bfloat16* to = plane + (kv_head * args.kv.num_slots + args.slots[row]) * shape.head_dim + i;
  Half::Round(a).Store(to);
  Half::Round(b).Store(to + half);
}

constexpr int kSiluThreads = 128;

// Shapes: gate_up [T, 2F], out [T, F]. Launch: one thread per 8 values of out.
// Order: element by element.
__global__ void __launch_bounds__(kSiluThreads)
    SiluMulKernel(const __nv_bfloat16* gate_up, int num_rows, int width, __nv_bfloat16* out) {
  const unsigned vector = blockIdx.x * kSiluThreads + threadIdx.x;
  const unsigned row = vector / static_cast<unsigned>(width / kVector);
  if (row >= static_cast<unsigned>(num_rows)) return;
  const int64_t first = static_cast<int64_t>(vector) * kVector;
  // Column first - row · F of row `row` of 2F.
  const __nv_bfloat16* from = gate_up + static_cast<int64_t>(row) * width + first;
  float gate[kVector];
  float up[kVector];
  Vector::Load(from).Widen(gate);
  Vector::Load(from + width).Widen(up);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    gate[i] = __fdiv_rn(gate[i], __fadd_rn(1.0f, Exp(-gate[i])));
  }
  RoundToBf16(gate);
#pragma unroll
  for (int i = 0; i < kVector; ++i) gate[i] = __fmul_rn(gate[i], up[i]);
  Vector::Round(gate).Store(out + first);
}

// Shapes: residual, delta [T, D], rows [R], out [R, D]. Launch: one CTA per row of out.
// Order: element by element.
__global__ void SelectRowsKernel(const __nv_bfloat16* residual, const __nv_bfloat16* delta,
                                 const int32_t* rows, int width, __nv_bfloat16* out) {
  const int64_t from = static_cast<int64_t>(rows[blockIdx.x]) * width;
  const int64_t to = static_cast<int64_t>(blockIdx.x) * width;
  for (int i = static_cast<int>(threadIdx.x) * kVector; i < width;
       i += static_cast<int>(blockDim.x) * kVector) {
    Sum(Vector::Load(residual + from + i), Vector::Load(delta + from + i)).Store(out + to + i);
  }
}

// Threads of a CTA that copies or adds one row.
int RowThreads(int width) {
  constexpr int kMostThreads = 512;
  const int wanted = (width / kVector + kWarp - 1) / kWarp * kWarp;
  return wanted < kMostThreads ? wanted : kMostThreads;
}

}  // namespace

void RequireRowWidths(int hidden_size, int intermediate_size) {
  const auto require = [](const char* name, int width, int most) {
    if (width % kVector == 0 && width <= most) return;
    throw Error(ErrorCode::kUnsupported,
                std::string("CUDA: ") + name + " " + std::to_string(width) +
                    ": must be a multiple of 8, at most " + std::to_string(most));
  };
  require("hidden_size", hidden_size, kMostNormWidth);
  require("intermediate_size", intermediate_size, std::numeric_limits<int>::max());
}

void Embed(const __nv_bfloat16* table, const int32_t* ids, int num_rows, int width,
           __nv_bfloat16* out, cudaStream_t stream) {
  if (num_rows == 0) return;
  EmbedKernel<<<num_rows, RowThreads(width), 0, stream>>>(table, ids, width, out);
  DETCHECK_CUDA(cudaGetLastError());
}

void AddRmsNorm(__nv_bfloat16* residual, const __nv_bfloat16* delta, const float* gain, float eps,
                int num_rows, int width, __nv_bfloat16* out, cudaStream_t stream) {
  if (num_rows == 0) return;
  if (width <= kMostNormWidth / 4) {
    LaunchAddRmsNorm<1>(residual, delta, gain, eps, num_rows, width, out, stream);
  } else if (width <= kMostNormWidth / 2) {
    LaunchAddRmsNorm<2>(residual, delta, gain, eps, num_rows, width, out, stream);
  } else if (width <= kMostNormWidth) {
    LaunchAddRmsNorm<4>(residual, delta, gain, eps, num_rows, width, out, stream);
  } else {
    throw Error(ErrorCode::kUnsupported, "CUDA: RMSNorm of rows of " + std::to_string(width) +
                                             " values: at most " + std::to_string(kMostNormWidth));
  }
}

void RopeAndWriteKv(const AttentionShape& shape, const RopeTables& rope, const float* q_gain,
                    const float* k_gain, float eps, const int32_t* positions, const int32_t* slots,
                    int num_rows, __nv_bfloat16* qkv, const KvLayer& kv, cudaStream_t stream) {
  if (num_rows == 0) return;
  if (shape.head_dim % kVector != 0 || shape.head_dim > kWarp * kVector) {
    throw Error(ErrorCode::kUnsupported, "CUDA: head_dim " + std::to_string(shape.head_dim) +
                                             ": must be a multiple of 8, at most 256");
  }
  unsigned group = 1;
  while (group * kVector < static_cast<unsigned>(shape.head_dim)) group *= 2;
  const int64_t heads = shape.num_heads + 2 * shape.num_kv_heads;
  const int64_t num_threads = heads * num_rows * group;
  const auto num_ctas = static_cast<unsigned>((num_threads + kRopeThreads - 1) / kRopeThreads);
  const RopeArguments args = {shape, rope,     q_gain, k_gain, eps, positions,
                              slots, num_rows, group,  qkv,    kv};
  RopeKernel<<<num_ctas, kRopeThreads, 0, stream>>>(args);
  DETCHECK_CUDA(cudaGetLastError());
}

void SiluMul(const __nv_bfloat16* gate_up, int num_rows, int width, __nv_bfloat16* out,
             cudaStream_t stream) {
  if (num_rows == 0) return;
  const int64_t num_vectors = static_cast<int64_t>(num_rows) * width / kVector;
  const auto num_ctas = static_cast<unsigned>((num_vectors + kSiluThreads - 1) / kSiluThreads);
  SiluMulKernel<<<num_ctas, kSiluThreads, 0, stream>>>(gate_up, num_rows, width, out);
  DETCHECK_CUDA(cudaGetLastError());
}

void SelectRows(const __nv_bfloat16* residual, const __nv_bfloat16* delta, const int32_t* rows,
                int num_rows, int width, __nv_bfloat16* out, cudaStream_t stream) {
  if (num_rows == 0) return;
  SelectRowsKernel<<<num_rows, RowThreads(width), 0, stream>>>(residual, delta, rows, width, out);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace detcheck::cuda
