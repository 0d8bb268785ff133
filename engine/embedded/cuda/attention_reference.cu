#include <cmath>
#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention_backends.h"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kMaxHeadDim = 256;

struct ReferenceArgs {
  const __nv_bfloat16* qkv;
  __nv_bfloat16* out;
  KvLayer kv;
  const int32_t* num_rows;
  const int32_t* row_sequences;
  const int32_t* positions;
  const int64_t* slot_offsets;
  const int32_t* slot_table;
  int group;
  int head_dim;
  int qkv_width;
  int out_width;
  float scale;  ///< 1 / sqrt(E)
};

/// The maximum or sum of one value of each thread, in every thread: pairs 64 apart, then 32, ...
template <typename Combine>
__device__ float Reduce(float value, float* scratch, Combine combine) {
  const int i = static_cast<int>(threadIdx.x);
  scratch[i] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (i < half) scratch[i] = combine(scratch[i], scratch[i + half]);
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();
  return result;
}

/// q · k over E ascending.
__device__ float Dot(const float* q, const __nv_bfloat16* k, int head_dim) {
  float dot = 0.0f;
  for (int e = 0; e < head_dim; e += 8) {
    const uint4 chunk = *reinterpret_cast<const uint4*>(k + e);
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&chunk);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      dot = __fmaf_rn(q[e + 2 * i], __low2float(pairs[i]), dot);
      dot = __fmaf_rn(q[e + 2 * i + 1], __high2float(pairs[i]), dot);
    }
  }
  return dot;
}

/// out of one row and query head. Launch: grid (rows, query heads), 128 threads; rows from the
/// number of the step's rows on are padding: zeros. E is a multiple of 8, at most 256.
/// Order: the row's keys from position 0 in blocks of 128. Thread i makes the score of the block's
/// key i, one float32 chain over E ascending; the block's maximum and the sum of its weights
/// exp(s - max) are fixed trees; then thread i makes elements i and i + 128 of the output, one
/// float32 chain over the block's keys ascending, on top of what there was, rescaled. Decode and
/// prefill are this one kernel, in both modes.
__global__ void __launch_bounds__(kThreads) ReferenceKernel(const ReferenceArgs args) {
  __shared__ float q[kMaxHeadDim];
  __shared__ float weights[kThreads];
  __shared__ float scratch[kThreads];
  __shared__ int32_t slots[kThreads];
  const int row = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y);
  const int i = static_cast<int>(threadIdx.x);
  const int width = args.head_dim;
  __nv_bfloat16* out = args.out + int64_t{row} * args.out_width + head * width;
  if (row >= *args.num_rows) {
    for (int e = i; e < width; e += kThreads) out[e] = __float2bfloat16_rn(0.0f);
    return;
  }
  const __nv_bfloat16* query = args.qkv + int64_t{row} * args.qkv_width + head * width;
  for (int e = i; e < width; e += kThreads) q[e] = __bfloat162float(query[e]);
  const int64_t plane = head / args.group * args.kv.num_slots;
  const __nv_bfloat16* k = args.kv.k + plane * width;
  const __nv_bfloat16* v = args.kv.v + plane * width;
  const int32_t* table = args.slot_table + args.slot_offsets[args.row_sequences[row]];
  const int num_keys = args.positions[row] + 1;
  float max = -INFINITY, sum = 0.0f;
  float output[kMaxHeadDim / kThreads] = {};
  for (int begin = 0; begin < num_keys; begin += kThreads) {
    const int count = min(kThreads, num_keys - begin);
    if (i < count) slots[i] = table[begin + i];
    __syncthreads();
    const float score =
        i < count ? __fmul_rn(Dot(q, k + int64_t{slots[i]} * width, width), args.scale) : -INFINITY;
    const float block_max = Reduce(score, scratch, [](float a, float b) { return fmaxf(a, b); });
    const float new_max = fmaxf(max, block_max);
    const float rescale = expf(__fsub_rn(max, new_max));
    weights[i] = expf(__fsub_rn(score, new_max));
    const float block_sum =
        Reduce(weights[i], scratch, [](float a, float b) { return __fadd_rn(a, b); });
    max = new_max;
    sum = __fmaf_rn(sum, rescale, block_sum);
    for (int part = 0; part < kMaxHeadDim / kThreads; ++part) {
      const int e = i + part * kThreads;
      if (e >= width) break;
      float y = __fmul_rn(output[part], rescale);
      for (int key = 0; key < count; ++key) {
        y = __fmaf_rn(weights[key], __bfloat162float(v[int64_t{slots[key]} * width + e]), y);
      }
      output[part] = y;
    }
    __syncthreads();
  }
  for (int part = 0; part < kMaxHeadDim / kThreads; ++part) {
    const int e = i + part * kThreads;
    if (e < width) out[e] = __float2bfloat16_rn(__fdiv_rn(output[part], sum));
  }
}

/// Plain attention, one row and query head per block.
class ReferenceAttention : public Attention {
 public:
  ReferenceAttention(const AttentionShape& shape, const StepLimits& limits, const StepArrays& step,
                     StepArena* arena)
      : shape_(shape),
        step_(step),
        arena_(arena),
        num_rows_(arena->Reserve<int32_t>(1)),
        row_sequences_(arena->Reserve<int32_t>(limits.max_rows)) {}

  void BeginStep(const StepBatch& batch, cudaStream_t stream) override {
    *num_rows_.host = batch.num_rows();
    for (size_t s = 0; s < batch.sequences.size(); ++s) {
      const SequenceSlice& sequence = batch.sequences[s];
      for (int i = 0; i < sequence.num_tokens; ++i) {
        row_sequences_.host[sequence.first_row + i] = static_cast<int32_t>(s);
      }
    }
    arena_->Upload(num_rows_, 1, stream);
    arena_->Upload(row_sequences_, batch.num_rows(), stream);
  }

  void Run(const KvLayer& kv, const __nv_bfloat16* qkv, int padded_rows, __nv_bfloat16* out,
           cudaStream_t stream) override {
    ReferenceArgs args;
    args.qkv = qkv;
    args.out = out;
    args.kv = kv;
    args.num_rows = num_rows_.device;
    args.row_sequences = row_sequences_.device;
    args.positions = step_.positions.device;
    args.slot_offsets = step_.slot_offsets.device;
    args.slot_table = step_.slot_table.device;
    args.group = shape_.group();
    args.head_dim = shape_.head_dim;
    args.qkv_width = shape_.qkv_width();
    args.out_width = shape_.num_heads * shape_.head_dim;
    args.scale = static_cast<float>(1.0 / std::sqrt(1.0 * shape_.head_dim));
    const dim3 grid(static_cast<unsigned>(padded_rows), static_cast<unsigned>(shape_.num_heads));
    ReferenceKernel<<<grid, kThreads, 0, stream>>>(args);
    DETCHECK_CUDA(cudaGetLastError());
  }

  Manifest Describe() const override {
    return {{"kernels.attention_backend", "reference", FieldSource::kObserved},
            {"kernels.attention_key_block", std::to_string(kThreads), FieldSource::kObserved}};
  }

 private:
  AttentionShape shape_;
  const StepArrays& step_;
  StepArena* arena_;
  StepArray<int32_t> num_rows_;
  StepArray<int32_t> row_sequences_;
};

}  // namespace

std::unique_ptr<Attention> MakeReferenceAttention(const AttentionShape& shape,
                                                  const StepLimits& limits, const StepArrays& step,
                                                  StepArena* arena) {
  if (shape.head_dim % 8 != 0 || shape.head_dim > kMaxHeadDim) {
    throw Error(ErrorCode::kUnsupported,
                "attention backend reference: head_dim " + std::to_string(shape.head_dim) +
                    " is no multiple of 8 up to " + std::to_string(kMaxHeadDim));
  }
  return std::make_unique<ReferenceAttention>(shape, limits, step, arena);
}

size_t ReferenceArenaBytes(const StepLimits& limits) {
  return StepArena::Padded(sizeof(int32_t)) +
         StepArena::Padded(static_cast<size_t>(limits.max_rows) * sizeof(int32_t));
}

}  // namespace detcheck::cuda
