#include "engine/embedded/cpu/cpu_ops.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/embedded/cpu/det_math.h"
#include "engine/embedded/cpu/sampler.h"

namespace detcheck::cpu {
namespace {

// Elements that one task of an element-wise operation takes at most.
constexpr int64_t kTaskElements = 16384;

SimdLevel LevelNamed(const std::string& name) {
  if (name.empty()) return DetectSimdLevel();
  for (const SimdLevel level : AvailableLevels()) {
    if (name == SimdLevelName(level)) return level;
  }
  throw Error(ErrorCode::kUsage, "SIMD level " + name + ": not available on this processor");
}

Rounding RoundingTo(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return Rounding::kBf16;
    case DType::kF16:
      return Rounding::kF16;
    case DType::kF32:
      break;
  }
  return Rounding::kNone;
}

CpuActivations& Cast(Activations* a) {
  return static_cast<CpuActivations&>(*a);
}
const CpuActivations& Cast(const Activations& a) {
  return static_cast<const CpuActivations&>(a);
}
const CpuMatrix& Matrix(const Weight& w) {
  return static_cast<const CpuMatrix&>(w);
}
const float* Vector(const Weight& w) {
  return static_cast<const CpuVector&>(w).data();
}
const float* VectorOrNull(const Weight* w) {
  return w == nullptr ? nullptr : Vector(*w);
}

// As the kernel tells it; empty where it does not.
std::string CpuModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

float* Grow(Buffer* buffer, int64_t num_floats) {
  const int64_t num_bytes = num_floats * static_cast<int64_t>(sizeof(float));
  if (buffer->num_bytes() < num_bytes) *buffer = Buffer(num_bytes);
  return static_cast<float*>(buffer->data());
}

}  // namespace

void CpuActivations::set_num_rows(int num_rows) {
  if (num_rows > max_rows_) {
    throw Error(ErrorCode::kInternal, "activations of " + std::to_string(max_rows_) +
                                          " rows: " + std::to_string(num_rows) + " needed");
  }
  num_rows_ = num_rows;
}

CpuOps::CpuOps(const ModelConfig& config, const EngineOptions& options, int max_rows)
    : config_(config),
      level_(LevelNamed(options.simd_level)),
      kernels_(KernelsFor(level_)),
      rounding_(RoundingTo(config.dtype)),
      pool_(options.num_threads),
      rope_frequencies_(RopeInvFreq(config.rope_theta, config.head_dim, config.rope_scaling)) {
  Grow(&gate_up_, int64_t{max_rows} * 2 * config.intermediate_size);
}

Manifest CpuOps::Describe() const {
  Manifest manifest;
  const auto add = [&](const char* name, const std::string& value) {
    manifest.push_back({name, value, FieldSource::kObserved});
  };
  const std::string model = CpuModelName();
  manifest.push_back(
      {"device.cpu_model", model, model.empty() ? FieldSource::kUnknown : FieldSource::kObserved});
  add("device.simd_level", SimdLevelName(level_));
  add("device.threads", std::to_string(pool_.num_threads()));
  add("engine.sampling_backend", "counter-based noise of seed, position and token id");
  return manifest;
}

std::unique_ptr<Weight> CpuOps::NewVector(const HostTensor& w) {
  std::vector<float> values(static_cast<size_t>(w.cols));
  switch (w.dtype) {
    case DType::kBf16:
      kernels_.math.bf16_to_float(static_cast<const uint16_t*>(w.data), values.data(), w.cols);
      break;
    case DType::kF16:
      kernels_.math.f16_to_float(static_cast<const uint16_t*>(w.data), values.data(), w.cols);
      break;
    case DType::kF32:
      std::memcpy(values.data(), w.data, values.size() * sizeof(float));
      break;
  }
  return std::make_unique<CpuVector>(std::move(values));
}

std::unique_ptr<Activations> CpuOps::NewActivations(int max_rows, int width) {
  return std::make_unique<CpuActivations>(max_rows, width);
}

void CpuOps::AllocateKvCache(int num_slots) {
  kv_cache_ = KvCache(config_, num_slots);
}

void CpuOps::BeginStep(const StepBatch& batch) {
  batch_ = &batch;
  num_logit_rows_ = 0;
  step_keys_.BeginStep(batch);
  const size_t half = rope_frequencies_.size();
  rope_cos_.resize(batch.positions.size() * half);
  rope_sin_.resize(batch.positions.size() * half);
  pool_.ParallelFor(batch.num_rows(), [&](int64_t task) {
    const auto r = static_cast<size_t>(task);
    cpu::RopeRow(rope_frequencies_, batch.positions[r], rope_cos_.data() + r * half,
                 rope_sin_.data() + r * half);
  });
  PlanAttention(batch);
}

void CpuOps::Embed(const Weight& table, Activations* out) {
  CpuActivations& y = Cast(out);
  y.set_num_rows(batch_->num_rows());
  pool_.ParallelFor(y.num_rows(), [&](int64_t r) {
    Matrix(table).CopyRow(batch_->ids[static_cast<size_t>(r)], y.row(r));
  });
}

void CpuOps::AddRmsNorm(Activations* residual, const Activations* delta, const Weight& gain,
                        Activations* out) {
  CpuActivations& x = Cast(residual);
  CpuActivations& y = Cast(out);
  y.set_num_rows(x.num_rows());
  NormRows(x.data(), delta == nullptr ? nullptr : Cast(*delta).data(), x.num_rows(), Vector(gain),
           y.data());
}

void CpuOps::Linear(const Activations& x, const Weight& w, Activations* out) {
  CpuActivations& y = Cast(out);
  y.set_num_rows(Cast(x).num_rows());
  Multiply(Cast(x).data(), y.num_rows(), Matrix(w), rounding_, y.data());
}

void CpuOps::RopeAndWriteKv(int layer, const Weight* q_gain, const Weight* k_gain,
                            Activations* qkv) {
  CpuActivations& x = Cast(qkv);
  pool_.ParallelFor(x.num_rows(), [&](int64_t r) {
    RotateAndWrite(layer, static_cast<int>(r), VectorOrNull(q_gain), VectorOrNull(k_gain),
                   x.row(r));
  });
}

void CpuOps::RotateAndWrite(int layer, int row, const float* q_gain, const float* k_gain,
                            float* qkv) {
  const int head_dim = config_.head_dim;
  const auto r = static_cast<size_t>(row);
  const int num_heads = config_.num_heads + config_.num_kv_heads;
  const float* cos = rope_cos_.data() + r * rope_frequencies_.size();
  const float* sin = rope_sin_.data() + r * rope_frequencies_.size();
  for (int h = 0; h < num_heads; ++h) {
    float* head = qkv + h * head_dim;
    const float* gain = h < config_.num_heads ? q_gain : k_gain;
    if (gain != nullptr) {
      kernels_.row.rms_norm(head, gain, config_.rms_norm_eps, head_dim, rounding_, head);
    }
    kernels_.row.rope(head, cos, sin, head_dim, rounding_);
  }
  const float* k = qkv + config_.q_width();
  for (int g = 0; g < config_.num_kv_heads; ++g) {
    kernels_.attention.write_kv(kv_cache_.Plane(layer, g), batch_->slots[r], k + g * head_dim,
                                k + config_.kv_width() + g * head_dim);
  }
}

void CpuOps::Attention(int layer, const Activations& qkv, Activations* out) {
  CpuActivations& y = Cast(out);
  y.set_num_rows(Cast(qkv).num_rows());
  Attend(layer, Cast(qkv).data(), y.data());
}

void CpuOps::GateUp(const Activations& x, const Weight& gate_up, Activations* out) {
  CpuActivations& y = Cast(out);
  y.set_num_rows(Cast(x).num_rows());
  const int64_t width = y.width();
  float* products = Grow(&gate_up_, 2 * width * y.num_rows());
  Multiply(Cast(x).data(), y.num_rows(), Matrix(gate_up), rounding_, products);
  const int64_t pieces = (width + kTaskElements - 1) / kTaskElements;
  pool_.ParallelFor(y.num_rows() * pieces, [&](int64_t task) {
    const int64_t row = task / pieces;
    const int64_t begin = task % pieces * kTaskElements;
    const float* gate = products + row * 2 * width + begin;
    kernels_.row.silu_mul(gate, gate + width, std::min(kTaskElements, width - begin), rounding_,
                          y.row(row) + begin);
  });
}

void CpuOps::SelectLogitRows(const Activations& residual, const Activations& delta,
                             Activations* out) {
  CpuActivations& y = Cast(out);
  y.set_num_rows(static_cast<int>(batch_->logit_rows.size()));
  for (int i = 0; i < y.num_rows(); ++i) {
    const int32_t r = batch_->logit_rows[static_cast<size_t>(i)];
    kernels_.row.add(Cast(residual).row(r), Cast(delta).row(r), y.width(), rounding_, y.row(i));
  }
}

void CpuOps::Logits(const Activations& x, const Weight& lm_head) {
  num_logit_rows_ = Cast(x).num_rows();
  float* logits = Grow(&logits_, int64_t{num_logit_rows_} * config_.vocab_size);
  Multiply(Cast(x).data(), num_logit_rows_, Matrix(lm_head), Rounding::kNone, logits);
}

const float* CpuOps::LogitRowAt(size_t i) const {
  return static_cast<const float*>(logits_.data()) + i * static_cast<size_t>(config_.vocab_size);
}

std::vector<SampledToken> CpuOps::Sample(std::span<const RowSampling> rows) {
  std::vector<SampledToken> tokens(rows.size());
  pool_.ParallelFor(static_cast<int64_t>(rows.size()), [&](int64_t task) {
    const auto i = static_cast<size_t>(task);
    tokens[i] = SampleRow(kernels_, {LogitRowAt(i), config_.vocab_size}, rows[i]);
  });
  return tokens;
}

std::vector<TokenLogprob> CpuOps::Score(std::span<const TokenId> targets, int num_top) {
  std::vector<TokenLogprob> logprobs(targets.size());
  pool_.ParallelFor(static_cast<int64_t>(targets.size()), [&](int64_t task) {
    const auto i = static_cast<size_t>(task);
    logprobs[i] = LogprobOfRow(kernels_, {LogitRowAt(i), config_.vocab_size}, targets[i], num_top);
  });
  return logprobs;
}

std::vector<std::string> CpuOps::LogitDigests() {
  std::vector<std::string> digests(static_cast<size_t>(num_logit_rows_));
  pool_.ParallelFor(num_logit_rows_, [&](int64_t task) {
    const auto i = static_cast<size_t>(task);
    Sha256 digest;
    digest.Update(LogitRowAt(i), static_cast<size_t>(config_.vocab_size) * sizeof(float));
    digests[i] = digest.HexDigest();
  });
  return digests;
}

}  // namespace detcheck::cpu
