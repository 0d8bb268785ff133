#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/sampler_row.cuh"

/// The sampler's launches. All read and write the arrays of one SamplerBatch, in stream order.
namespace detcheck::cuda {

/// Most candidates of a row: what a plan may ask for.
constexpr int kMaxCandidates = 1000;
/// Most CTAs that share a row.
constexpr int kMaxSplits = 64;

/// How one row is asked for.
struct RowRequest {
  double temperature;
  double top_p;
  double min_p;
  uint64_t seed;
  int64_t position;
  int32_t top_k;
  int32_t num_top;  ///< -1: no logprobs.
  int32_t target;   ///< Token whose logprob is wanted; -1: the one that is drawn.

  __host__ __device__ bool is_drawn() const { return temperature > 0.0; }
  __host__ __device__ bool is_filtered() const { return is_drawn() && (top_k > 0 || top_p < 1.0); }
};

/// What became of one row.
struct RowResult {
  int32_t token;
  float logprob;
  int32_t num_candidates;
};

struct RowCandidate {
  int32_t id;
  float logprob;
};

/// A token of the race and when it arrives; id INT32_MAX: none.
struct Arrival {
  double time;
  int32_t id;
};

/// One call, all in device memory.
struct SamplerBatch {
  const float* logits;  ///< [R, V]
  int num_rows;         ///< R
  int vocab_size;       ///< V
  int num_splits;  ///< CTAs that share a row, where a kernel splits rows: no result depends on it.
  const RowRequest* requests;  ///< [R] Not read by LaunchLargest.
  unsigned* tickets;           ///< [R] 0 before and after every launch.
  Rank* largest_parts;         ///< [R, kMaxSplits]
  Arrival* arrival_parts;      ///< [R, kMaxSplits]
  Rank* largest;               ///< [R] First of each row's ranking.
  Rank* floors;        ///< [R] Last rank that top_k and top_p keep; where the row is filtered.
  RowResult* results;  ///< [R]
  RowCandidate* candidates;  ///< [R, candidate_stride]
  int candidate_stride;
};

/// largest and results[].token of every row.
void LaunchLargest(const SamplerBatch& batch, cudaStream_t stream);
/// floors of rows that are filtered; after LaunchLargest.
void LaunchFilters(const SamplerBatch& batch, cudaStream_t stream);
/// results[].token of rows that are drawn; after LaunchFilters.
void LaunchRace(const SamplerBatch& batch, cudaStream_t stream);
/// logprob, num_candidates and candidates of rows with num_top >= 0; after the tokens are known.
void LaunchLogprobs(const SamplerBatch& batch, cudaStream_t stream);

}  // namespace detcheck::cuda
