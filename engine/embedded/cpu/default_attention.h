#pragma once

#include <vector>

#include "engine/embedded/cpu/attention.h"

namespace detcheck::cpu {

/// Attention of default mode, chosen by shape. A sequence with one token: its keys are cut into as
/// many parts as keep all threads busy, the fewer the more sequences and heads there are, and the
/// parts are merged (Flash-Decoding: Dao et al., 2023). More tokens: scores of a block of queries
/// against all keys by sgemm, a softmax over whole rows, and sgemm again with the values.
/// So the bits of a row depend on the batch, on the chunk that it is part of and on the threads.
class ShapedAttention {
 public:
  ShapedAttention(const ModelConfig& config, const KernelTable& kernels, Rounding rounding,
                  ThreadPool* pool);

  /// The arguments outlive the step.
  void BeginStep(const StepBatch& batch, const StepKeys& keys);

  /// out[T, H·E] from qkv[T, (H + 2G)·E], for `layer`. OpenBLAS is left with the pool's number of
  /// threads.
  void Run(KvCache* cache, int layer, const float* qkv, float* out);

 private:
  /// The queries [first_token, first_token + num_tokens) of a sequence and KV head; part `part` of
  /// `num_parts` of their keys, `part_keys` keys each.
  struct Task {
    size_t sequence = 0;
    int kv_head = 0;
    int first_token = 0;
    int num_tokens = 0;
    int part = 0;
    int num_parts = 1;
    int part_keys = 0;
    int64_t state_offset = 0;  ///< Of the first part's states in states_.
  };
  struct Layer {
    KvCache* cache;
    int layer;
    const float* qkv;
    float* out;
  };

  void AddDecode(size_t sequence, int wanted_parts);
  void AddPrefill(size_t sequence);
  void RunPart(const Task& task, const Layer& layer);
  void MergeParts(const Task& task, const Layer& layer);
  void RunPrefill(const Task& task, const Layer& layer);

  AttentionShape shape_;
  const KernelTable& kernels_;
  Rounding rounding_;
  ThreadPool* pool_;
  const StepBatch* batch_ = nullptr;
  const StepKeys* keys_ = nullptr;
  std::vector<Task> parts_;
  std::vector<Task> merges_;
  std::vector<Task> prefills_;
  std::vector<float> states_;
};

}  // namespace detcheck::cpu
