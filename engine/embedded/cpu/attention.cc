#include "engine/embedded/cpu/attention.h"

#include <algorithm>
#include <cstring>

namespace detcheck::cpu {
namespace {

constexpr int kTileRows = 96;       // Enough that widening a block of keys costs little.
constexpr int kTasksPerThread = 4;  // Enough that one long task does not leave others idle.

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

KvElement ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return KvElement::kBf16;
    case DType::kF16:
      return KvElement::kF16;
    case DType::kF32:
      break;
  }
  return KvElement::kF32;
}

// The cache group that holds `n` positions in order, or -1.
int32_t WholeGroup(const int32_t* slots, int n) {
  if (slots[0] % kKeyGroup != 0) return -1;
  for (int i = 1; i < n; ++i) {
    if (slots[i] != slots[0] + i) return -1;
  }
  return slots[0] / kKeyGroup;
}

// The same for integers: a thread's own, valid until its next call.
int32_t* ThreadInts(size_t num_ints) {
  static thread_local std::vector<int32_t> ints;
  if (ints.size() < num_ints) ints.resize(num_ints);
  return ints.data();
}

}  // namespace

KvCache::KvCache(const ModelConfig& config, int num_slots) : num_kv_heads_(config.num_kv_heads) {
  const int64_t slots = CeilDiv(num_slots, kKeyGroup) * kKeyGroup;
  const int64_t element_bytes = config.dtype == DType::kF32 ? 4 : 2;
  shape_.element = ElementOf(config.dtype);
  shape_.head_dim = config.head_dim;
  k_bytes_ = slots * config.head_dim * element_bytes;
  v_bytes_ = slots * PaddedHeadDim(config.head_dim) * element_bytes;
  buffer_ = Buffer((k_bytes_ + v_bytes_) * config.num_layers * num_kv_heads_);
}

KvPlane KvCache::Plane(int layer, int kv_head) {
  const int64_t plane_idx = int64_t{layer} * num_kv_heads_ + kv_head;
  char* k = static_cast<char*>(buffer_.data()) + plane_idx * (k_bytes_ + v_bytes_);
  KvPlane plane = shape_;
  plane.k = k;
  plane.v = k + k_bytes_;
  return plane;
}

void StepKeys::BeginStep(const StepBatch& batch) {
  groups_.clear();
  for (const SequenceSlice& slice : batch.sequences) {
    const int num_keys = slice.start_pos + slice.num_tokens;
    for (int key = 0; key < num_keys; key += kKeyGroup) {
      groups_.push_back(WholeGroup(slice.slots + key, std::min(kKeyGroup, num_keys - key)));
    }
  }
  places_.clear();
  const int32_t* groups = groups_.data();
  for (const SequenceSlice& slice : batch.sequences) {
    const int num_keys = slice.start_pos + slice.num_tokens;
    places_.push_back({.slots = slice.slots, .groups = groups, .num_keys = num_keys});
    groups += CeilDiv(num_keys, kKeyGroup);
  }
}

void RoundInPlace(const MathKernels& math, Rounding rounding, float* x, int64_t n) {
  if (rounding == Rounding::kBf16) math.round_bf16(x, x, n);
  if (rounding == Rounding::kF16) math.round_f16(x, x, n);
}

float* ThreadFloats(int64_t num_floats) {
  static thread_local std::vector<float> floats;
  if (floats.size() < static_cast<size_t>(num_floats)) {
    floats.resize(static_cast<size_t>(num_floats));
  }
  return floats.data();
}

SplitAttention::SplitAttention(const ModelConfig& config, const KernelTable& kernels,
                               Rounding rounding, ThreadPool* pool)
    : shape_(config), kernels_(kernels), rounding_(rounding), pool_(pool) {}

void SplitAttention::BeginStep(const StepBatch& batch, const StepKeys& keys) {
  batch_ = &batch;
  keys_ = &keys;
  tasks_.clear();
  merges_.clear();
  const int64_t wanted_tasks = int64_t{kTasksPerThread} * pool_->num_threads();
  const int64_t most_tokens = std::max(1, kTileRows / shape_.queries_per_kv);
  const int64_t even_tokens =
      CeilDiv(int64_t{batch.num_rows()} * shape_.num_kv_heads, wanted_tasks);
  const auto tile_tokens = static_cast<int>(std::clamp<int64_t>(even_tokens, 1, most_tokens));
  int64_t num_tiles = 0;
  for (const SequenceSlice& slice : batch.sequences) {
    num_tiles += CeilDiv(slice.num_tokens, tile_tokens) * shape_.num_kv_heads;
  }
  for (size_t s = 0; s < batch.sequences.size(); ++s) {
    AddTasks(s, batch.sequences[s], tile_tokens, num_tiles < wanted_tasks);
  }
  int64_t state_floats = 0;
  for (const Task& merge : merges_) {
    const int64_t rows = int64_t{merge.num_tokens} * shape_.queries_per_kv;
    state_floats += NumSplits(merge) * rows * StateSize(shape_.head_dim);
  }
  states_.resize(static_cast<size_t>(state_floats));
}

// Tiles with the most keys come first, so that the last tasks to run are short ones.
void SplitAttention::AddTasks(size_t sequence, const SequenceSlice& slice, int tile_tokens,
                              bool by_split) {
  const auto num_tiles = static_cast<int>(CeilDiv(slice.num_tokens, tile_tokens));
  for (int tile = num_tiles - 1; tile >= 0; --tile) {
    for (int kv_head = 0; kv_head < shape_.num_kv_heads; ++kv_head) {
      Task task;
      task.sequence = sequence;
      task.kv_head = kv_head;
      task.first_token = tile * tile_tokens;
      task.num_tokens = std::min(tile_tokens, slice.num_tokens - task.first_token);
      const int num_splits = NumSplits(task);
      if (!by_split || num_splits == 1) {
        tasks_.push_back(task);
        continue;
      }
      if (!merges_.empty()) {
        const Task& last = merges_.back();
        task.state_offset = last.state_offset + int64_t{NumSplits(last)} * last.num_tokens *
                                                    shape_.queries_per_kv *
                                                    StateSize(shape_.head_dim);
      }
      merges_.push_back(task);
      for (task.split = 0; task.split < num_splits; ++task.split) tasks_.push_back(task);
    }
  }
}

int SplitAttention::NumSplits(const Task& task) const {
  const SequenceSlice& slice = batch_->sequences[task.sequence];
  const int num_keys = slice.start_pos + task.first_token + task.num_tokens;
  return static_cast<int>(CeilDiv(num_keys, kKeySplit));
}

void SplitAttention::Run(KvCache* cache, int layer, const float* qkv, float* out) {
  const Layer place{cache, layer, qkv, out};
  pool_->ParallelFor(static_cast<int64_t>(tasks_.size()),
                     [&](int64_t i) { RunTask(tasks_[static_cast<size_t>(i)], place); });
  pool_->ParallelFor(static_cast<int64_t>(merges_.size()),
                     [&](int64_t i) { MergeTask(merges_[static_cast<size_t>(i)], place); });
}

void SplitAttention::RunTask(const Task& task, const Layer& layer) {
  const SequenceSlice& slice = batch_->sequences[task.sequence];
  const int num_rows = task.num_tokens * shape_.queries_per_kv;
  const int state_size = StateSize(shape_.head_dim);
  float* work = ThreadFloats(int64_t{num_rows} * (shape_.head_dim + 2 * state_size) +
                             KeyBlockScratch(shape_.head_dim));
  int32_t* num_keys = ThreadInts(static_cast<size_t>(num_rows));
  for (int r = 0; r < num_rows; ++r) {
    num_keys[r] = slice.start_pos + task.first_token + r / shape_.queries_per_kv + 1;
  }
  const float* first = layer.qkv + shape_.QueryOffset(task.kv_head) +
                       (slice.first_row + task.first_token) * shape_.qkv_width;
  const float* q = first;
  if (task.num_tokens > 1) {
    for (int t = 0; t < task.num_tokens; ++t) {
      std::memcpy(work + t * shape_.group_width(), first + t * shape_.qkv_width,
                  static_cast<size_t>(shape_.group_width()) * sizeof(float));
    }
    q = work;
    work += num_rows * shape_.head_dim;
  }
  const QueryRows rows{q, num_keys, num_rows};
  const KvPlane plane = layer.cache->Plane(layer.layer, task.kv_head);
  if (task.split < 0) return RunSplits(task, rows, plane, work, layer);
  const int first_key = task.split * kKeySplit;
  kernels_.attention.attend(
      plane, (*keys_)[task.sequence], rows, first_key, first_key + kKeySplit, work,
      states_.data() + task.state_offset + int64_t{task.split} * num_rows * state_size);
}

void SplitAttention::RunSplits(const Task& task, const QueryRows& rows, const KvPlane& plane,
                               float* work, const Layer& layer) {
  const int state_size = StateSize(shape_.head_dim);
  float* parts = work + KeyBlockScratch(shape_.head_dim);
  float* totals = parts + rows.num_rows * state_size;
  const int num_splits = NumSplits(task);
  kernels_.attention.attend(plane, (*keys_)[task.sequence], rows, 0, kKeySplit, work, totals);
  for (int split = 1; split < num_splits; ++split) {
    const int first_key = split * kKeySplit;
    kernels_.attention.attend(plane, (*keys_)[task.sequence], rows, first_key,
                              first_key + kKeySplit, work, parts);
    for (int r = 0; r < rows.num_rows; ++r) {
      if (rows.num_keys[r] <= first_key) continue;
      kernels_.attention.merge(parts + r * state_size, totals + r * state_size, shape_.head_dim);
    }
  }
  FinishRows(task, totals, layer);
}

void SplitAttention::MergeTask(const Task& task, const Layer& layer) {
  const SequenceSlice& slice = batch_->sequences[task.sequence];
  const int num_rows = task.num_tokens * shape_.queries_per_kv;
  const int state_size = StateSize(shape_.head_dim);
  const int num_splits = NumSplits(task);
  float* totals = states_.data() + task.state_offset;  // The first split's states grow into them.
  for (int r = 0; r < num_rows; ++r) {
    const int num_keys = slice.start_pos + task.first_token + r / shape_.queries_per_kv + 1;
    for (int split = 1; split < num_splits && split * kKeySplit < num_keys; ++split) {
      kernels_.attention.merge(totals + (int64_t{split} * num_rows + r) * state_size,
                               totals + r * state_size, shape_.head_dim);
    }
  }
  FinishRows(task, totals, layer);
}

void SplitAttention::FinishRows(const Task& task, const float* totals, const Layer& layer) {
  const int first_row = batch_->sequences[task.sequence].first_row + task.first_token;
  const int state_size = StateSize(shape_.head_dim);
  for (int t = 0; t < task.num_tokens; ++t) {
    float* out = layer.out + (first_row + t) * shape_.out_width + shape_.QueryOffset(task.kv_head);
    for (int h = 0; h < shape_.queries_per_kv; ++h) {
      const int row = t * shape_.queries_per_kv + h;
      kernels_.attention.finish(totals + row * state_size, out + h * shape_.head_dim,
                                shape_.head_dim);
    }
    RoundInPlace(kernels_.math, rounding_, out, shape_.group_width());
  }
}

}  // namespace detcheck::cpu
