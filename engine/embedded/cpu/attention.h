#pragma once

#include <cstdint>
#include <vector>

#include "engine/embedded/cpu/buffer.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/rounding.h"
#include "engine/embedded/cpu/thread_pool.h"
#include "engine/embedded/model_config.h"
#include "engine/embedded/ops.h"

namespace detcheck::cpu {

/// Keys and values of every layer and KV head, in the model dtype, zero-filled.
class KvCache {
 public:
  KvCache() = default;
  KvCache(const ModelConfig& config, int num_slots);

  KvPlane Plane(int layer, int kv_head);

 private:
  Buffer buffer_;  ///< [layer][KV head]: k, then v, as KvPlane has them.
  KvPlane shape_;
  int num_kv_heads_ = 0;
  int64_t k_bytes_ = 0;
  int64_t v_bytes_ = 0;
};

/// Where the keys of a step's sequences lie in the cache.
class StepKeys {
 public:
  /// The batch must outlive the step.
  void BeginStep(const StepBatch& batch);

  const KeyPlaces& operator[](size_t sequence) const { return places_[sequence]; }

 private:
  std::vector<int32_t> groups_;
  std::vector<KeyPlaces> places_;
};

/// Head counts and widths of one layer's attention: rows of qkv and of out.
struct AttentionShape {
  explicit AttentionShape(const ModelConfig& config)
      : num_kv_heads(config.num_kv_heads),
        queries_per_kv(config.num_heads / config.num_kv_heads),
        head_dim(config.head_dim),
        qkv_width(config.qkv_width()),
        out_width(config.q_width()) {}

  /// Of the first query head of a KV head's group, within a row of qkv or of out.
  int64_t QueryOffset(int kv_head) const { return int64_t{kv_head} * queries_per_kv * head_dim; }
  int64_t group_width() const { return int64_t{queries_per_kv} * head_dim; }

  int num_kv_heads;
  int queries_per_kv;
  int head_dim;
  int64_t qkv_width;
  int64_t out_width;
};

/// Rounds `n` values in place.
void RoundInPlace(const MathKernels& math, Rounding rounding, float* x, int64_t n);

/// At least `num_floats` floats of the calling thread's own working memory, valid until its next
/// call.
float* ThreadFloats(int64_t num_floats);

/// Attention of deterministic mode.
/// Order: for a query at position p the keys 0 .. p are cut at multiples of kKeySplit; each split
/// is one AttentionKernels::attend from its first key on, and the splits are merged from left to
/// right. So the operations that make a row depend on p alone: not on the tile of rows it is
/// computed in, nor on whether its splits ran one after another or in parallel.
class SplitAttention {
 public:
  SplitAttention(const ModelConfig& config, const KernelTable& kernels, Rounding rounding,
                 ThreadPool* pool);

  /// Cuts the step's work into tasks, the same for every layer. The arguments outlive the step.
  void BeginStep(const StepBatch& batch, const StepKeys& keys);

  /// out[T, H·E] from qkv[T, (H + 2G)·E], for `layer`.
  void Run(KvCache* cache, int layer, const float* qkv, float* out);

 private:
  /// Rows of one sequence and KV head: all of their splits, or the keys of one.
  struct Task {
    size_t sequence = 0;
    int kv_head = 0;
    int first_token = 0;
    int num_tokens = 0;
    int split = -1;            ///< -1: all.
    int64_t state_offset = 0;  ///< Of the first split's states in states_; split tasks only.
  };
  struct Layer {
    KvCache* cache;
    int layer;
    const float* qkv;
    float* out;
  };

  void AddTasks(size_t sequence, const SequenceSlice& slice, int tile_tokens, bool by_split);
  int NumSplits(const Task& task) const;
  void RunTask(const Task& task, const Layer& layer);
  void RunSplits(const Task& task, const QueryRows& rows, const KvPlane& plane, float* work,
                 const Layer& layer);
  void MergeTask(const Task& task, const Layer& layer);
  void FinishRows(const Task& task, const float* totals, const Layer& layer);

  AttentionShape shape_;
  const KernelTable& kernels_;
  Rounding rounding_;
  ThreadPool* pool_;
  const StepBatch* batch_ = nullptr;
  const StepKeys* keys_ = nullptr;
  std::vector<Task> tasks_;
  std::vector<Task> merges_;  ///< One for each tile whose splits are tasks of their own.
  std::vector<float> states_;
};

}  // namespace detcheck::cpu
