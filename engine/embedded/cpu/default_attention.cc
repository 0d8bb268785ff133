#include "engine/embedded/cpu/default_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/embedded/cpu/default_blas.h"

namespace detcheck::cpu {
namespace {

constexpr int kTasksPerThread = 2;
constexpr int kPrefillRows = 128;  // Bounds the scores that are held: this many rows by all keys.

int CeilDiv(int a, int b) {
  return (a + b - 1) / b;
}

}  // namespace

ShapedAttention::ShapedAttention(const ModelConfig& config, const KernelTable& kernels,
                                 Rounding rounding, ThreadPool* pool)
    : shape_(config), kernels_(kernels), rounding_(rounding), pool_(pool) {}

void ShapedAttention::BeginStep(const StepBatch& batch, const StepKeys& keys) {
  batch_ = &batch;
  keys_ = &keys;
  parts_.clear();
  merges_.clear();
  prefills_.clear();
  states_.clear();
  int num_decode = 0;
  for (const SequenceSlice& slice : batch.sequences) num_decode += slice.num_tokens == 1;
  const int decode_tasks = std::max(1, num_decode * shape_.num_kv_heads);
  const int wanted_parts = CeilDiv(kTasksPerThread * pool_->num_threads(), decode_tasks);
  for (size_t s = 0; s < batch.sequences.size(); ++s) {
    if (batch.sequences[s].num_tokens == 1) {
      AddDecode(s, wanted_parts);
    } else {
      AddPrefill(s);
    }
  }
}

void ShapedAttention::AddDecode(size_t sequence, int wanted_parts) {
  const int num_keys = batch_->sequences[sequence].start_pos + 1;
  const int num_blocks = CeilDiv(num_keys, kKeyBlock);
  Task task;
  task.sequence = sequence;
  task.num_tokens = 1;
  task.part_keys = CeilDiv(num_blocks, std::min(wanted_parts, num_blocks)) * kKeyBlock;
  task.num_parts = CeilDiv(num_keys, task.part_keys);
  const int part_states = shape_.queries_per_kv * StateSize(shape_.head_dim);
  for (task.kv_head = 0; task.kv_head < shape_.num_kv_heads; ++task.kv_head) {
    task.state_offset = static_cast<int64_t>(states_.size());
    states_.resize(states_.size() + static_cast<size_t>(task.num_parts * part_states));
    for (task.part = 0; task.part < task.num_parts; ++task.part) parts_.push_back(task);
    if (task.num_parts > 1) merges_.push_back(task);
  }
}

void ShapedAttention::AddPrefill(size_t sequence) {
  const int num_tokens = batch_->sequences[sequence].num_tokens;
  const int block_tokens = std::max(1, kPrefillRows / shape_.queries_per_kv);
  Task task;
  task.sequence = sequence;
  for (int block = CeilDiv(num_tokens, block_tokens) - 1; block >= 0; --block) {
    task.first_token = block * block_tokens;
    task.num_tokens = std::min(block_tokens, num_tokens - task.first_token);
    for (task.kv_head = 0; task.kv_head < shape_.num_kv_heads; ++task.kv_head) {
      prefills_.push_back(task);
    }
  }
}

void ShapedAttention::Run(KvCache* cache, int layer, const float* qkv, float* out) {
  const Layer place{cache, layer, qkv, out};
  const auto run_all = [&](const std::vector<Task>& tasks,
                           void (ShapedAttention::*run)(const Task&, const Layer&)) {
    pool_->ParallelFor(static_cast<int64_t>(tasks.size()),
                       [&](int64_t i) { (this->*run)(tasks[static_cast<size_t>(i)], place); });
  };
  run_all(parts_, &ShapedAttention::RunPart);
  run_all(merges_, &ShapedAttention::MergeParts);
  if (prefills_.empty()) return;
  Blas::Get().SetNumThreads(1);  // The heads are what runs in parallel here.
  run_all(prefills_, &ShapedAttention::RunPrefill);
  Blas::Get().SetNumThreads(pool_->num_threads());
}

void ShapedAttention::RunPart(const Task& task, const Layer& layer) {
  const SequenceSlice& slice = batch_->sequences[task.sequence];
  const int num_rows = shape_.queries_per_kv;
  const std::vector<int32_t> num_keys(static_cast<size_t>(num_rows), slice.start_pos + 1);
  const float* q =
      layer.qkv + slice.first_row * shape_.qkv_width + shape_.QueryOffset(task.kv_head);
  float* states = states_.data() + task.state_offset +
                  int64_t{task.part} * num_rows * StateSize(shape_.head_dim);
  const int first_key = task.part * task.part_keys;
  kernels_.attention.attend(layer.cache->Plane(layer.layer, task.kv_head), (*keys_)[task.sequence],
                            {q, num_keys.data(), num_rows}, first_key, first_key + task.part_keys,
                            ThreadFloats(KeyBlockScratch(shape_.head_dim)), states);
  if (task.num_parts == 1) MergeParts(task, layer);
}

void ShapedAttention::MergeParts(const Task& task, const Layer& layer) {
  const int state_size = StateSize(shape_.head_dim);
  const int first_row = batch_->sequences[task.sequence].first_row;
  float* states = states_.data() + task.state_offset;
  float* out = layer.out + first_row * shape_.out_width + shape_.QueryOffset(task.kv_head);
  for (int r = 0; r < shape_.queries_per_kv; ++r) {
    float* total = states + r * state_size;
    for (int part = 1; part < task.num_parts; ++part) {
      kernels_.attention.merge(total + int64_t{part} * shape_.queries_per_kv * state_size, total,
                               shape_.head_dim);
    }
    kernels_.attention.finish(total, out + r * shape_.head_dim, shape_.head_dim);
  }
  RoundInPlace(kernels_.math, rounding_, out, shape_.group_width());
}

void ShapedAttention::RunPrefill(const Task& task, const Layer& layer) {
  const SequenceSlice& slice = batch_->sequences[task.sequence];
  const int head_dim = shape_.head_dim;
  const int num_keys = slice.start_pos + task.first_token + task.num_tokens;
  const int stride = CeilDiv(num_keys, kKeyGroup) * kKeyGroup;
  const int num_rows = task.num_tokens * shape_.queries_per_kv;
  float* k = ThreadFloats(int64_t{stride} * (2 * head_dim + num_rows) + 2 * num_rows * head_dim);
  float* v = k + int64_t{stride} * head_dim;
  float* scores = v + int64_t{stride} * head_dim;
  float* q = scores + int64_t{stride} * num_rows;
  float* y = q + num_rows * head_dim;
  kernels_.attention.gather(layer.cache->Plane(layer.layer, task.kv_head), (*keys_)[task.sequence],
                            num_keys, stride, k, v);

  const int64_t first_row = slice.first_row + task.first_token;
  const int64_t group = shape_.group_width();
  const size_t group_bytes = static_cast<size_t>(group) * sizeof(float);
  const int64_t head = shape_.QueryOffset(task.kv_head);
  for (int t = 0; t < task.num_tokens; ++t) {
    std::memcpy(q + t * group, layer.qkv + (first_row + t) * shape_.qkv_width + head, group_bytes);
  }
  Blas::Get().Times(num_rows, num_keys, head_dim, q, head_dim, k, stride, scores, stride);
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  for (int r = 0; r < num_rows; ++r) {
    const int visible = slice.start_pos + task.first_token + r / shape_.queries_per_kv + 1;
    kernels_.defaults.softmax(scores + int64_t{r} * stride, visible, num_keys, scale);
  }
  Blas::Get().Times(num_rows, head_dim, num_keys, scores, stride, v, head_dim, y, head_dim);
  RoundInPlace(kernels_.math, rounding_, y, num_rows * head_dim);
  for (int t = 0; t < task.num_tokens; ++t) {
    std::memcpy(layer.out + (first_row + t) * shape_.out_width + head, y + t * group, group_bytes);
  }
}

}  // namespace detcheck::cpu
