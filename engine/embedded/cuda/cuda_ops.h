#pragma once

#include <cuda_bf16.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/embedded/cuda/attention.h"
#include "engine/embedded/cuda/decode_graphs.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/gemm.h"
#include "engine/embedded/cuda/rope.h"
#include "engine/embedded/cuda/row_kernels.h"
#include "engine/embedded/cuda/sampler.h"
#include "engine/embedded/cuda/step_arena.h"
#include "engine/embedded/cuda/step_arrays.h"
#include "engine/embedded/ops.h"

namespace detcheck::cuda {

/// The model's operations on one GPU: bf16 weights, activations and KV cache, float32 accumulation
/// and logits. All work is queued on one stream; Sample, Score and LogitDigests wait for it.
///
/// A step of decoding sequences alone is padded to one of a few numbers of rows and runs as a CUDA
/// graph, captured from the same calls the first time that its number is met.
class CudaOps : public Ops {
 public:
  /// Takes the current device. Throws Error(kUnsupported) for a dtype other than bf16, and in
  /// deterministic mode where the device does not hold what the mode stands on.
  CudaOps(const ModelConfig& config, const EngineOptions& options, const StepCapacity& capacity);
  ~CudaOps() override;

  Manifest Describe() const override;
  bool MakesSyntheticWeights() const override { return true; }
  std::unique_ptr<Weight> NewMatrix(const HostTensor& w) override;
  std::unique_ptr<Weight> NewVector(const HostTensor& w) override;
  std::unique_ptr<Activations> NewActivations(int max_rows, int width) override;
  void AllocateKvCache(int num_slots) override;

  void BeginStep(const StepBatch& batch) override;
  void Embed(const Weight& table, Activations* out) override;
  void AddRmsNorm(Activations* residual, const Activations* delta, const Weight& gain,
                  Activations* out) override;
  void Linear(const Activations& x, const Weight& w, Activations* out) override;
  void RopeAndWriteKv(int layer, const Weight* q_gain, const Weight* k_gain,
                      Activations* qkv) override;
  void Attention(int layer, const Activations& qkv, Activations* out) override;
  void GateUp(const Activations& x, const Weight& gate_up, Activations* out) override;
  void SelectLogitRows(const Activations& residual, const Activations& delta,
                       Activations* out) override;
  void Logits(const Activations& x, const Weight& lm_head) override;

  std::vector<SampledToken> Sample(std::span<const RowSampling> rows) override;
  std::vector<TokenLogprob> Score(std::span<const TokenId> targets, int num_top) override;
  std::vector<std::string> LogitDigests() override;

 private:
  void PrepareProducts();
  /// Fills the step's arrays; rows from the batch's to padded_rows_ are padding.
  void FillStep(const StepBatch& batch);
  /// Whether the calls of this step queue work: not where a captured graph stands for them.
  bool queues() const { return !graphs_.replaying(); }
  KvLayer Layer(int layer) const;

  const ModelConfig config_;
  const EngineOptions options_;
  const StepCapacity capacity_;
  const StepLimits limits_;
  const AttentionShape shape_;

  Stream stream_;
  StepArena arena_;
  StepArrays step_;
  std::unique_ptr<detcheck::cuda::Attention> attention_;
  std::unique_ptr<Gemm> gemm_;
  std::unique_ptr<Sampler> sampler_;
  Rope rope_;
  DecodeGraphs graphs_;

  DeviceBuffer gate_up_;  ///< [rows, 2F]
  DeviceBuffer logits_;   ///< [max_logit_rows, V] float32
  DeviceBuffer digest_scratch_;
  DeviceBuffer kv_cache_;  ///< [layer][k, v][G][slots][E]
  int64_t num_slots_ = 0;  ///< One more than asked for: the last takes what padding rows write.

  int num_rows_ = 0;  ///< Of the step.
  int padded_rows_ = 0;
  int num_logit_rows_ = 0;  ///< Of the step, without padding.
};

}  // namespace detcheck::cuda
