#include "engine/embedded/cuda/cuda_ops.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_tensors.h"
#include "engine/embedded/cuda/gpu.h"
#include "engine/embedded/cuda/logit_digest.h"
#include "engine/embedded/cuda/synthetic_fill.h"
#include "engine/embedded/cuda/verify.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck::cuda {
namespace {

CudaActivations& Cast(Activations* a) {
  return static_cast<CudaActivations&>(*a);
}
const CudaActivations& Cast(const Activations& a) {
  return static_cast<const CudaActivations&>(a);
}
const CudaMatrix& Matrix(const Weight& w) {
  return static_cast<const CudaMatrix&>(w);
}
const float* Vector(const Weight& w) {
  return static_cast<const CudaVector&>(w).data();
}
const float* VectorOrNull(const Weight* w) {
  return w == nullptr ? nullptr : Vector(*w);
}

float ToFloat(const HostTensor& w, int64_t i) {
  switch (w.dtype) {
    case DType::kBf16:
      return FloatFromBf16(static_cast<const uint16_t*>(w.data)[i]);
    case DType::kF16:
      return FloatFromF16(static_cast<const uint16_t*>(w.data)[i]);
    case DType::kF32:
      break;
  }
  return static_cast<const float*>(w.data)[i];
}

ModelConfig RequireUsable(const ModelConfig& config) {
  if (config.dtype != DType::kBf16) {
    throw Error(ErrorCode::kUnsupported, "--dtype " + std::string(DTypeName(config.dtype)) +
                                             ": the CUDA engine computes in bf16 alone");
  }
  RequireRowWidths(config.hidden_size, config.intermediate_size);
  return config;
}

/// KV slots of all positions of all sequences of a step.
int64_t SlotTableCapacity(const StepLimits& limits) {
  return int64_t{limits.max_sequences} * limits.context_len;
}

size_t ArenaBytes(const AttentionShape& shape, const StepLimits& limits) {
  const auto padded = [](int64_t count, size_t size) {
    return StepArena::Padded(static_cast<size_t>(count) * size);
  };
  return 4 * padded(limits.max_rows, sizeof(int32_t)) +
         padded(limits.max_sequences, sizeof(int64_t)) +
         padded(SlotTableCapacity(limits), sizeof(int32_t)) + AttentionArenaBytes(shape, limits);
}

StepArrays ReserveStep(const StepLimits& limits, StepArena* arena) {
  StepArrays step;
  step.ids = arena->Reserve<int32_t>(limits.max_rows);
  step.positions = arena->Reserve<int32_t>(limits.max_rows);
  step.slots = arena->Reserve<int32_t>(limits.max_rows);
  step.logit_rows = arena->Reserve<int32_t>(limits.max_rows);
  step.slot_offsets = arena->Reserve<int64_t>(limits.max_sequences);
  step.slot_table = arena->Reserve<int32_t>(SlotTableCapacity(limits));
  return step;
}

bool IsDecode(const StepBatch& batch) {
  const auto one_row = [](const SequenceSlice& slice) { return slice.num_tokens == 1; };
  return batch.logit_rows.size() == batch.ids.size() &&
         std::all_of(batch.sequences.begin(), batch.sequences.end(), one_row);
}

}  // namespace

CudaOps::CudaOps(const ModelConfig& config, const EngineOptions& options,
                 const StepCapacity& capacity)
    : config_(RequireUsable(config)),
      options_(options),
      capacity_(capacity),
      limits_{.max_rows = capacity.max_rows,
              .max_sequences = capacity.max_sequences,
              .context_len = config.context_len},
      shape_{.num_heads = config.num_heads,
             .num_kv_heads = config.num_kv_heads,
             .head_dim = config.head_dim},
      arena_(ArenaBytes(shape_, limits_)),
      step_(ReserveStep(limits_, &arena_)),
      attention_(MakeAttention(options.attention_backend, options.deterministic, shape_, limits_,
                               step_, &arena_)),
      gemm_(MakeGemm(options.deterministic)),
      sampler_(MakeSampler(capacity.max_logit_rows, config.vocab_size)),
      rope_(config),
      graphs_(options.cuda_graph, std::min(capacity.max_rows, capacity.max_logit_rows)),
      gate_up_(static_cast<size_t>(capacity.max_rows) * 2 *
               static_cast<size_t>(config.intermediate_size) * sizeof(__nv_bfloat16)),
      logits_(static_cast<size_t>(capacity.max_logit_rows) *
              static_cast<size_t>(config.vocab_size) * sizeof(float)) {
  PrepareProducts();
  if (options.deterministic) VerifyAttention(options.attention_backend, shape_);
}

CudaOps::~CudaOps() = default;

void CudaOps::PrepareProducts() {
  const int64_t d = config_.hidden_size;
  const int64_t f = config_.intermediate_size;
  gemm_->Prepare({.n = config_.qkv_width(), .k = d}, capacity_.max_rows);
  gemm_->Prepare({.n = d, .k = config_.q_width()}, capacity_.max_rows);
  gemm_->Prepare({.n = 2 * f, .k = d}, capacity_.max_rows);
  gemm_->Prepare({.n = d, .k = f}, capacity_.max_rows);
  gemm_->Prepare({.n = config_.vocab_size, .k = d, .output = GemmOutput::kFloat32},
                 capacity_.max_logit_rows);
}

Manifest CudaOps::Describe() const {
  Manifest manifest = DescribeGpu();
  const auto add = [&manifest](const char* name, const std::string& value) {
    manifest.push_back({name, value, FieldSource::kObserved});
  };
  add("engine.sampling_backend", "counter-based noise of seed, position and token id");
  add("kernels.mode", options_.deterministic ? "deterministic" : "default");
  add("kernels.bit_classes", options_.deterministic
                                 ? "one for all rows, batches, chunks, and for graph and eager"
                                 : "chosen by shape");
  add("kernels.verified", options_.deterministic
                              ? "at start: matrix products over rows and configurations, attention "
                                "over chunks, batches and decode"
                              : "not in default mode");
  for (ManifestField& field : gemm_->Describe()) manifest.push_back(std::move(field));
  for (ManifestField& field : attention_->Describe()) manifest.push_back(std::move(field));
  return manifest;
}

std::unique_ptr<Weight> CudaOps::NewMatrix(const HostTensor& w) {
  auto matrix = std::make_unique<CudaMatrix>(w.rows, w.cols);
  if (w.data != nullptr) {
    DETCHECK_CUDA(cudaMemcpy(matrix->data(), w.data,
                             static_cast<size_t>(w.rows * w.cols) * sizeof(__nv_bfloat16),
                             cudaMemcpyHostToDevice));
    return matrix;
  }
  __nv_bfloat16* rows = matrix->data();
  for (const SyntheticRows& part : w.recipe) {
    FillSynthetic(part.tensor, part.rows * w.cols, rows, stream_.get());
    rows += part.rows * w.cols;
  }
  stream_.Synchronize();
  return matrix;
}

std::unique_ptr<Weight> CudaOps::NewVector(const HostTensor& w) {
  std::vector<float> values(static_cast<size_t>(w.cols));
  for (size_t i = 0; i < values.size(); ++i) values[i] = ToFloat(w, static_cast<int64_t>(i));
  auto vector = std::make_unique<CudaVector>(values.size());
  DETCHECK_CUDA(cudaMemcpy(vector->data(), values.data(), values.size() * sizeof(float),
                           cudaMemcpyHostToDevice));
  return vector;
}

std::unique_ptr<Activations> CudaOps::NewActivations(int max_rows, int width) {
  return std::make_unique<CudaActivations>(max_rows, width);
}

void CudaOps::AllocateKvCache(int num_slots) {
  graphs_.Clear();  // They know the cache's address.
  kv_cache_ = DeviceBuffer();
  num_slots_ = int64_t{num_slots} + 1;
  const size_t num_bytes = 2 * static_cast<size_t>(config_.num_layers) *
                           static_cast<size_t>(num_slots_ * config_.kv_width()) *
                           sizeof(__nv_bfloat16);
  try {
    kv_cache_ = DeviceBuffer(num_bytes);
  } catch (const Error& error) {
    throw Error(error.code(), "KV pool of " + std::to_string(num_slots) + " tokens: " +
                                  error.what() + "; --max-total-tokens makes it smaller");
  }
  DETCHECK_CUDA(cudaMemset(kv_cache_.as<void>(), 0, num_bytes));
  // The stream of the steps does not wait for the default one, on which this and the weights are.
  DETCHECK_CUDA(cudaDeviceSynchronize());
}

KvLayer CudaOps::Layer(int layer) const {
  const int64_t plane = num_slots_ * config_.kv_width();
  __nv_bfloat16* k = kv_cache_.as<__nv_bfloat16>() + 2 * layer * plane;
  return {.k = k, .v = k + plane, .num_slots = num_slots_};
}

void CudaOps::BeginStep(const StepBatch& batch) {
  const bool decode = IsDecode(batch);
  num_rows_ = batch.num_rows();
  padded_rows_ = decode ? graphs_.PaddedRows(num_rows_) : num_rows_;
  num_logit_rows_ = static_cast<int>(batch.logit_rows.size());
  graphs_.Abandon(stream_.get());
  arena_.BeginStep();
  FillStep(batch);
  attention_->BeginStep(batch, stream_.get());
  arena_.EndUploads(stream_.get());
  graphs_.Begin(decode, num_rows_, stream_.get());
}

void CudaOps::FillStep(const StepBatch& batch) {
  std::copy(batch.ids.begin(), batch.ids.end(), step_.ids.host);
  std::copy(batch.positions.begin(), batch.positions.end(), step_.positions.host);
  std::copy(batch.slots.begin(), batch.slots.end(), step_.slots.host);
  std::copy(batch.logit_rows.begin(), batch.logit_rows.end(), step_.logit_rows.host);
  for (int row = num_rows_; row < padded_rows_; ++row) {
    step_.ids.host[row] = 0;
    step_.positions.host[row] = 0;
    step_.slots.host[row] = static_cast<int32_t>(num_slots_ - 1);
    step_.logit_rows.host[row] = row;
  }
  int64_t offset = 0;
  for (size_t s = 0; s < batch.sequences.size(); ++s) {
    const SequenceSlice& slice = batch.sequences[s];
    const int len = slice.start_pos + slice.num_tokens;
    step_.slot_offsets.host[s] = offset;
    std::copy_n(slice.slots, len, step_.slot_table.host + offset);
    offset += len;
  }
  const cudaStream_t stream = stream_.get();
  arena_.Upload(step_.ids, padded_rows_, stream);
  arena_.Upload(step_.positions, padded_rows_, stream);
  arena_.Upload(step_.slots, padded_rows_, stream);
  arena_.Upload(step_.logit_rows, std::max(num_logit_rows_, padded_rows_), stream);
  arena_.Upload(step_.slot_offsets, static_cast<int64_t>(batch.sequences.size()), stream);
  arena_.Upload(step_.slot_table, offset, stream);
}

void CudaOps::Embed(const Weight& table, Activations* out) {
  CudaActivations& y = Cast(out);
  y.set_num_rows(padded_rows_);
  if (!queues()) return;
  cuda::Embed(Matrix(table).data(), step_.ids.device, padded_rows_, y.width(), y.data(),
              stream_.get());
}

void CudaOps::AddRmsNorm(Activations* residual, const Activations* delta, const Weight& gain,
                         Activations* out) {
  const CudaActivations& x = Cast(*residual);
  CudaActivations& y = Cast(out);
  y.set_num_rows(x.num_rows());
  if (!queues()) return;
  cuda::AddRmsNorm(x.data(), delta == nullptr ? nullptr : Cast(*delta).data(), Vector(gain),
                   config_.rms_norm_eps, x.num_rows(), x.width(), y.data(), stream_.get());
}

void CudaOps::Linear(const Activations& x, const Weight& w, Activations* out) {
  const int num_rows = Cast(x).num_rows();
  Cast(out).set_num_rows(num_rows);
  if (!queues()) return;
  const CudaMatrix& matrix = Matrix(w);
  gemm_->Run({.n = matrix.rows(), .k = matrix.cols()}, num_rows, Cast(x).data(), matrix.data(),
             Cast(out).data(), stream_.get());
}

void CudaOps::RopeAndWriteKv(int layer, const Weight* q_gain, const Weight* k_gain,
                             Activations* qkv) {
  if (!queues()) return;
  cuda::RopeAndWriteKv(shape_, rope_.tables(), VectorOrNull(q_gain), VectorOrNull(k_gain),
                       config_.rms_norm_eps, step_.positions.device, step_.slots.device,
                       Cast(*qkv).num_rows(), Cast(*qkv).data(), Layer(layer), stream_.get());
}

void CudaOps::Attention(int layer, const Activations& qkv, Activations* out) {
  Cast(out).set_num_rows(Cast(qkv).num_rows());
  if (!queues()) return;
  attention_->Run(Layer(layer), Cast(qkv).data(), padded_rows_, Cast(out).data(), stream_.get());
}

void CudaOps::GateUp(const Activations& x, const Weight& gate_up, Activations* out) {
  const int num_rows = Cast(x).num_rows();
  CudaActivations& y = Cast(out);
  y.set_num_rows(num_rows);
  if (!queues()) return;
  const CudaMatrix& matrix = Matrix(gate_up);
  gemm_->Run({.n = matrix.rows(), .k = matrix.cols()}, num_rows, Cast(x).data(), matrix.data(),
             gate_up_.as<void>(), stream_.get());
  SiluMul(gate_up_.as<__nv_bfloat16>(), num_rows, y.width(), y.data(), stream_.get());
}

void CudaOps::SelectLogitRows(const Activations& residual, const Activations& delta,
                              Activations* out) {
  CudaActivations& y = Cast(out);
  // A padded step has a logit row for each of its rows.
  y.set_num_rows(padded_rows_ > num_rows_ ? padded_rows_ : num_logit_rows_);
  if (!queues()) return;
  SelectRows(Cast(residual).data(), Cast(delta).data(), step_.logit_rows.device, y.num_rows(),
             y.width(), y.data(), stream_.get());
}

void CudaOps::Logits(const Activations& x, const Weight& lm_head) {
  const int num_rows = Cast(x).num_rows();
  if (num_rows > capacity_.max_logit_rows) {
    throw Error(ErrorCode::kInternal, "logits of " + std::to_string(num_rows) + " rows: " +
                                          std::to_string(capacity_.max_logit_rows) + " are held");
  }
  if (queues()) {
    const CudaMatrix& matrix = Matrix(lm_head);
    gemm_->Run({.n = matrix.rows(), .k = matrix.cols(), .output = GemmOutput::kFloat32}, num_rows,
               Cast(x).data(), matrix.data(), logits_.as<void>(), stream_.get());
  }
  graphs_.Launch(stream_.get());
}

std::vector<SampledToken> CudaOps::Sample(std::span<const RowSampling> rows) {
  return sampler_->Sample(logits_.as<float>(), rows, stream_.get());
}

std::vector<TokenLogprob> CudaOps::Score(std::span<const TokenId> targets, int num_top) {
  return sampler_->Score(logits_.as<float>(), targets, num_top, stream_.get());
}

std::vector<std::string> CudaOps::LogitDigests() {
  return DigestRows(logits_.as<float>(), num_logit_rows_, config_.vocab_size, &digest_scratch_,
                    stream_.get());
}

}  // namespace detcheck::cuda
