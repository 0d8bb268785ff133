#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/request.h"
#include "engine/embedded/model_config.h"
#include "engine/embedded/synthetic_fill.h"

namespace detcheck {

/// Some consecutive rows of a weight that are made from a seed, wherever they are wanted.
struct SyntheticRows {
  SyntheticTensor tensor;
  int64_t rows = 0;
};

/// A weight tensor, row-major [rows, cols] (vectors: rows = 1), as raw elements of `dtype` in host
/// memory, or as the recipe of its rows from top to bottom where `data` is null. Both must live
/// only until the call that takes them returns.
struct HostTensor {
  DType dtype = DType::kBf16;
  int64_t rows = 0;
  int64_t cols = 0;
  const void* data = nullptr;
  std::span<const SyntheticRows> recipe = {};
};

/// Most that one engine step will ask of an Ops.
struct StepCapacity {
  int max_rows = 0;  ///< Tokens.
  int max_sequences = 0;
  int max_logit_rows = 0;
};

/// A weight prepared by the Ops that made it; it must not outlive that Ops.
class Weight {
 public:
  virtual ~Weight() = default;
};

/// Activations [rows, width] in the model dtype, owned by the caller, made by one Ops, which alone
/// knows their layout. Rows in use are those of the current step.
class Activations {
 public:
  virtual ~Activations() = default;
};

/// One sequence's share of an engine step: rows [first_row, first_row + num_tokens) of the step.
struct SequenceSlice {
  int first_row = 0;
  int num_tokens = 0;  ///< >= 1.
  int start_pos = 0;   ///< Position of its first row; tokens before it are in the KV cache.
  /// KV slot of every position 0 .. start_pos + num_tokens - 1; valid during the step.
  const int32_t* slots = nullptr;
};

/// What one engine step computes. Rows are the sequences' tokens, one sequence after another.
struct StepBatch {
  std::vector<TokenId> ids;        ///< [T]
  std::vector<int32_t> positions;  ///< [T]
  std::vector<int32_t> slots;      ///< [T] KV slot that each row writes.
  std::vector<SequenceSlice> sequences;
  std::vector<int32_t> logit_rows;  ///< Rows whose logits are wanted, ascending.

  int num_rows() const { return static_cast<int>(ids.size()); }
};

/// How one row of logits becomes a token.
struct RowSampling {
  Sampling sampling;
  int64_t position = 0;  ///< Position of the token that is drawn: the counter of its noise.
  int num_top = -1;      ///< -1: no logprobs; else the chosen token's and this many candidates.
};

struct SampledToken {
  TokenId id = 0;
  TokenLogprob logprob;  ///< Of log-softmax(logits), before temperature and filters.
};

/// Everything that the model does on a device, for a batch of rows. Implemented by cpu/ and cuda/.
/// In deterministic mode each result row is a bitwise function of its own inputs alone.
/// Not thread-safe. Errors: Error(kDevice).
class Ops {
 public:
  virtual ~Ops() = default;

  /// Device, libraries, bit classes: manifest fields under "device." and "kernels.", with
  /// engine.sampling_backend (reports/manifest_fields.cc lists them).
  virtual Manifest Describe() const = 0;

  // --- memory -------------------------------------------------------------------------------
  /// Whether NewMatrix takes recipes. Where not, it is given elements only.
  virtual bool MakesSyntheticWeights() const { return false; }
  /// `w` is [N, K]: Linear computes x · wᵀ; Embed gathers its rows.
  virtual std::unique_ptr<Weight> NewMatrix(const HostTensor& w) = 0;
  /// A vector of length `w.cols`, kept in float32.
  virtual std::unique_ptr<Weight> NewVector(const HostTensor& w) = 0;
  virtual std::unique_ptr<Activations> NewActivations(int max_rows, int width) = 0;
  /// KV cache of `num_slots` slots for every layer, zero-filled, before the first step. Called again,
  /// it takes the place of the one before.
  virtual void AllocateKvCache(int num_slots) = 0;

  // --- one step -----------------------------------------------------------------------------
  /// Makes `batch` the current step. It must outlive the step.
  virtual void BeginStep(const StepBatch& batch) = 0;

  /// out[T, D] = rows `ids` of table [V, D].
  virtual void Embed(const Weight& table, Activations* out) = 0;

  /// residual[rows, D] = round(residual + delta) where delta is not null; then
  /// out = round(round(residual · rsqrt(mean(residual²) + eps)) · gain[D]).
  virtual void AddRmsNorm(Activations* residual, const Activations* delta, const Weight& gain,
                          Activations* out) = 0;

  /// out[rows, N] = round(x[rows, K] · wᵀ), float32 accumulation.
  virtual void Linear(const Activations& x, const Weight& w, Activations* out) = 0;

  /// In place on qkv[T, (H + 2G)·E]: RMSNorm of each q and k head (gains [E], null: none), RoPE on
  /// q and k at the rows' positions; then k and v are written to the rows' slots of `layer`.
  virtual void RopeAndWriteKv(int layer, const Weight* q_gain, const Weight* k_gain,
                              Activations* qkv) = 0;

  /// out[T, H·E] = causal attention of the rows' queries over their sequences' slots of `layer`.
  virtual void Attention(int layer, const Activations& qkv, Activations* out) = 0;

  /// out[T, F] = round(round(silu(g)) · u) where [g, u] = round(x · gate_upᵀ), gate_up [2F, D].
  virtual void GateUp(const Activations& x, const Weight& gate_up, Activations* out) = 0;

  /// out[i] = round(residual[r] + delta[r]) for the i-th r of the step's logit_rows.
  virtual void SelectLogitRows(const Activations& residual, const Activations& delta,
                               Activations* out) = 0;

  /// Keeps float32 logits[R, V] = x[R, D] · lm_headᵀ of the R logit rows until the next step.
  virtual void Logits(const Activations& x, const Weight& lm_head) = 0;

  // --- what becomes of the logits -----------------------------------------------------------
  /// Draws a token for each logit row; `rows` has one entry per logit row.
  virtual std::vector<SampledToken> Sample(std::span<const RowSampling> rows) = 0;

  /// log-softmax of logit row i at targets[i], with `num_top` candidates.
  virtual std::vector<TokenLogprob> Score(std::span<const TokenId> targets, int num_top) = 0;

  /// Digest (hex) of the bits of each logit row's V float32 values. Equal bits, equal digests, within
  /// one device; the CPU's is the SHA-256 of the values, little-endian.
  virtual std::vector<std::string> LogitDigests() = 0;
};

/// The CPU's implementation. Throws Error(kUsage) for an unknown attention backend or SIMD level
/// and Error(kUnsupported) for default mode in a build without OpenBLAS.
std::unique_ptr<Ops> MakeCpuOps(const ModelConfig& config, const EngineOptions& options,
                                int max_rows);

}  // namespace detcheck
