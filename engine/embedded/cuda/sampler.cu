#include <algorithm>
#include <cstring>
#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/sampler.h"
#include "engine/embedded/cuda/sampler_kernels.cuh"

namespace detcheck::cuda {
namespace {

// Enough CTAs to fill a large GPU, each with enough to do.
int NumSplits(int num_rows, int vocab_size) {
  constexpr int kCtasWanted = 1024;
  constexpr int kLeastLogits = 2048;
  const int useful = std::min(kMaxSplits, (vocab_size + kLeastLogits - 1) / kLeastLogits);
  return std::clamp(kCtasWanted / num_rows, 1, useful);
}

class DeviceSampler : public Sampler {
 public:
  DeviceSampler(int max_rows, int vocab_size);

  std::vector<SampledToken> Sample(const float* logits, std::span<const RowSampling> rows,
                                   cudaStream_t stream) override;
  std::vector<TokenLogprob> Score(const float* logits, std::span<const TokenId> targets,
                                  int num_top, cudaStream_t stream) override;

 private:
  // Throws where a call asks for more than there is room for.
  void CheckSize(size_t num_rows, int num_top) const;
  SamplerBatch BatchOf(const float* logits, size_t num_rows, int num_top) const;
  void Upload(size_t num_rows, cudaStream_t stream);
  // Copies results and candidates to the host, and waits for them.
  void Download(const SamplerBatch& batch, cudaStream_t stream);
  TokenLogprob LogprobOf(const SamplerBatch& batch, size_t row) const;
  size_t ResultBytes(size_t num_rows, int num_candidates) const {
    return num_rows * (sizeof(RowResult) + num_candidates * sizeof(RowCandidate));
  }

  int max_rows_ = 0;
  int vocab_size_ = 0;
  DeviceBuffer requests_;
  DeviceBuffer tickets_;
  DeviceBuffer largest_parts_;
  DeviceBuffer arrival_parts_;
  DeviceBuffer largest_;
  DeviceBuffer floors_;
  DeviceBuffer results_;  // All rows' results, then their candidates.
  PinnedBuffer host_requests_;
  PinnedBuffer host_results_;
};

DeviceSampler::DeviceSampler(int max_rows, int vocab_size)
    : max_rows_(max_rows), vocab_size_(vocab_size) {
  const auto rows = static_cast<size_t>(max_rows);
  requests_ = DeviceBuffer(rows * sizeof(RowRequest));
  tickets_ = DeviceBuffer(rows * sizeof(unsigned));
  largest_parts_ = DeviceBuffer(rows * kMaxSplits * sizeof(Rank));
  arrival_parts_ = DeviceBuffer(rows * kMaxSplits * sizeof(Arrival));
  largest_ = DeviceBuffer(rows * sizeof(Rank));
  floors_ = DeviceBuffer(rows * sizeof(Rank));
  results_ = DeviceBuffer(ResultBytes(rows, kMaxCandidates));
  host_requests_ = PinnedBuffer(rows * sizeof(RowRequest));
  host_results_ = PinnedBuffer(ResultBytes(rows, kMaxCandidates));
  DETCHECK_CUDA(cudaMemset(tickets_.as<unsigned>(), 0, tickets_.num_bytes()));
  DETCHECK_CUDA(cudaMemset(results_.as<char>(), 0, results_.num_bytes()));
  DETCHECK_CUDA(cudaDeviceSynchronize());
}

void DeviceSampler::CheckSize(size_t num_rows, int num_top) const {
  if (num_rows > static_cast<size_t>(max_rows_)) {
    throw Error(ErrorCode::kInternal, "sampler of " + std::to_string(max_rows_) +
                                          " rows: " + std::to_string(num_rows) + " needed");
  }
  if (num_top > kMaxCandidates) {
    throw Error(ErrorCode::kUnsupported, "CUDA: " + std::to_string(num_top) +
                                             " top logprobs: at most " +
                                             std::to_string(kMaxCandidates));
  }
}

SamplerBatch DeviceSampler::BatchOf(const float* logits, size_t num_rows, int num_top) const {
  const auto rows = static_cast<int>(num_rows);
  SamplerBatch batch = {};
  batch.logits = logits;
  batch.num_rows = rows;
  batch.vocab_size = vocab_size_;
  batch.num_splits = NumSplits(rows, vocab_size_);
  batch.requests = requests_.as<RowRequest>();
  batch.tickets = tickets_.as<unsigned>();
  batch.largest_parts = largest_parts_.as<Rank>();
  batch.arrival_parts = arrival_parts_.as<Arrival>();
  batch.largest = largest_.as<Rank>();
  batch.floors = floors_.as<Rank>();
  batch.results = results_.as<RowResult>();
  batch.candidates = reinterpret_cast<RowCandidate*>(batch.results + rows);
  batch.candidate_stride = std::max(0, num_top);
  return batch;
}

void DeviceSampler::Upload(size_t num_rows, cudaStream_t stream) {
  DETCHECK_CUDA(cudaMemcpyAsync(requests_.as<RowRequest>(), host_requests_.as<RowRequest>(),
                                num_rows * sizeof(RowRequest), cudaMemcpyHostToDevice, stream));
}

void DeviceSampler::Download(const SamplerBatch& batch, cudaStream_t stream) {
  const size_t num_bytes = ResultBytes(static_cast<size_t>(batch.num_rows), batch.candidate_stride);
  DETCHECK_CUDA(cudaMemcpyAsync(host_results_.as<char>(), batch.results, num_bytes,
                                cudaMemcpyDeviceToHost, stream));
  DETCHECK_CUDA(cudaStreamSynchronize(stream));
}

TokenLogprob DeviceSampler::LogprobOf(const SamplerBatch& batch, size_t row) const {
  const auto* results = host_results_.as<RowResult>();
  const auto* candidates = reinterpret_cast<const RowCandidate*>(results + batch.num_rows) +
                           row * static_cast<size_t>(batch.candidate_stride);
  TokenLogprob logprob;
  logprob.logprob = static_cast<double>(results[row].logprob);
  for (int i = 0; i < results[row].num_candidates; ++i) {
    logprob.top.push_back({candidates[i].id, static_cast<double>(candidates[i].logprob)});
  }
  return logprob;
}

std::vector<SampledToken> DeviceSampler::Sample(const float* logits,
                                                std::span<const RowSampling> rows,
                                                cudaStream_t stream) {
  if (rows.empty()) return {};
  auto* requests = host_requests_.as<RowRequest>();
  int num_top = -1;
  for (const RowSampling& row : rows) num_top = std::max(num_top, row.num_top);
  CheckSize(rows.size(), num_top);
  bool is_drawn = false;
  bool is_filtered = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Sampling& how = rows[i].sampling;
    requests[i] = {how.temperature,  how.top_p, how.min_p,       how.seed,
                   rows[i].position, how.top_k, rows[i].num_top, -1};
    is_drawn |= requests[i].is_drawn();
    is_filtered |= requests[i].is_filtered();
  }
  const SamplerBatch batch = BatchOf(logits, rows.size(), num_top);
  if (is_drawn || num_top >= 0) Upload(rows.size(), stream);
  LaunchLargest(batch, stream);
  if (is_filtered) LaunchFilters(batch, stream);
  if (is_drawn) LaunchRace(batch, stream);
  if (num_top >= 0) LaunchLogprobs(batch, stream);
  Download(batch, stream);
  std::vector<SampledToken> tokens(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    tokens[i].id = host_results_.as<RowResult>()[i].token;
    if (rows[i].num_top >= 0) tokens[i].logprob = LogprobOf(batch, i);
  }
  return tokens;
}

std::vector<TokenLogprob> DeviceSampler::Score(const float* logits,
                                               std::span<const TokenId> targets, int num_top,
                                               cudaStream_t stream) {
  if (targets.empty()) return {};
  CheckSize(targets.size(), num_top);
  auto* requests = host_requests_.as<RowRequest>();
  for (size_t i = 0; i < targets.size(); ++i) {
    requests[i] = {};
    requests[i].num_top = num_top;
    requests[i].target = targets[i];
  }
  const SamplerBatch batch = BatchOf(logits, targets.size(), num_top);
  Upload(targets.size(), stream);
  LaunchLargest(batch, stream);
  LaunchLogprobs(batch, stream);
  Download(batch, stream);
  std::vector<TokenLogprob> logprobs;
  for (size_t i = 0; i < targets.size(); ++i) logprobs.push_back(LogprobOf(batch, i));
  return logprobs;
}

}  // namespace

std::unique_ptr<Sampler> MakeSampler(int max_rows, int vocab_size) {
  return std::make_unique<DeviceSampler>(max_rows, vocab_size);
}

}  // namespace detcheck::cuda
