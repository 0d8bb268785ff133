#include <climits>

#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/sampler_kernels.cuh"
#include "engine/embedded/cuda/sampler_select.cuh"

// Twin in meaning of all kernels here: engine/embedded/cpu/sampler.cc. Weights, noise and
// logarithms have its bits; sums are of integers (see Mass), where the CPU adds in double. So a
// logprob may differ from the CPU's by about 1e-7 (and the last bit of its float32), and top_p may
// keep a token more or fewer where a prefix comes that near to its share of the sum.

namespace detcheck::cuda {
namespace {

constexpr int kSplitThreads = 256;
constexpr int kSplitWarps = kSplitThreads / kWarpSize;

struct Part {
  int begin;
  int end;
};

// The ids of CTA blockIdx.x of a row.
__device__ __forceinline__ Part PartOfRow(const SamplerBatch& batch) {
  const int share = (batch.vocab_size + batch.num_splits - 1) / batch.num_splits;
  const int begin = min(static_cast<int>(blockIdx.x) * share, batch.vocab_size);
  return {begin, min(begin + share, batch.vocab_size)};
}

__device__ __forceinline__ const float* RowOf(const SamplerBatch& batch, int row) {
  return batch.logits + static_cast<int64_t>(row) * batch.vocab_size;
}

// Whether this CTA is the last of its row to come here: it then sees what the others have written
// to memory. The row's ticket is 0 again afterwards.
__device__ __forceinline__ bool IsLastOfRow(const SamplerBatch& batch, int row) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto last = static_cast<unsigned>(batch.num_splits - 1);
    is_last = atomicInc(batch.tickets + row, last) == last;
  }
  __syncthreads();
  __threadfence();
  return is_last;
}

// The largest of the CTA's values, in thread 0.
__device__ __forceinline__ Rank LargestOfCta(Rank rank) {
  __shared__ Rank warps[kSplitWarps];
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) {
    rank = max(rank, __shfl_xor_sync(kWholeWarp, rank, mask));
  }
  __syncthreads();
  if (threadIdx.x % kWarpSize == 0) warps[threadIdx.x / kWarpSize] = rank;
  __syncthreads();
  for (int w = 0; w < kSplitWarps; ++w) rank = max(rank, warps[w]);
  return rank;
}

// Shapes: logits [R, V]. Launch: num_splits CTAs per row.
// Order: the maximum of integers that are unique in the row: none to fix.
__global__ void __launch_bounds__(kSplitThreads) LargestKernel(const SamplerBatch batch) {
  const auto row = static_cast<int>(blockIdx.y);
  const Part part = PartOfRow(batch);
  Rank largest = 0;
  VisitLogits(RowOf(batch, row), part.begin, part.end,
              [&](int id, float logit) { largest = max(largest, RankOf(logit, id)); });
  largest = LargestOfCta(largest);
  Rank* parts = batch.largest_parts + row * kMaxSplits;
  if (threadIdx.x == 0) parts[blockIdx.x] = largest;
  if (!IsLastOfRow(batch, row)) return;
  const bool has_part = static_cast<int>(threadIdx.x) < batch.num_splits;
  largest = LargestOfCta(has_part ? __ldcg(parts + threadIdx.x) : 0);
  if (threadIdx.x > 0) return;
  batch.largest[row] = largest;
  batch.results[row].token = IdOf(largest);
}

// Shapes: logits [R, V]. Launch: one CTA per row. Order: see Selection::Find.
__global__ void __launch_bounds__(kSelectThreads) FilterKernel(const SamplerBatch batch) {
  __shared__ SelectSpace space;
  const auto row = static_cast<int>(blockIdx.x);
  const RowRequest& request = batch.requests[row];
  if (!request.is_filtered()) return;
  RankedRow ranked = {RowOf(batch, row), batch.vocab_size, LogitOf(batch.largest[row]),
                      request.temperature, kLowestNumber};
  if (request.top_k > 0 && request.top_k < batch.vocab_size) {
    ranked.floor = Selection<PrefixSum::kTokens>(ranked, request.top_k, &space).Find();
  }
  if (request.top_p < 1.0)
    ranked.floor = Selection<PrefixSum::kMass>(ranked, request.top_p, &space).Find();
  if (threadIdx.x == 0) batch.floors[row] = ranked.floor;
}

__device__ __forceinline__ Arrival Earlier(const Arrival& a, const Arrival& b) {
  return a.time < b.time || (a.time == b.time && a.id < b.id) ? a : b;
}

// The earliest of the CTA's arrivals, in thread 0.
__device__ __forceinline__ Arrival EarliestOfCta(Arrival arrival) {
  __shared__ Arrival warps[kSplitWarps];
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) {
    const Arrival other = {__shfl_xor_sync(kWholeWarp, arrival.time, mask),
                           __shfl_xor_sync(kWholeWarp, arrival.id, mask)};
    arrival = Earlier(arrival, other);
  }
  __syncthreads();
  if (threadIdx.x % kWarpSize == 0) warps[threadIdx.x / kWarpSize] = arrival;
  __syncthreads();
  for (int w = 0; w < kSplitWarps; ++w) arrival = Earlier(arrival, warps[w]);
  return arrival;
}

// The earliest arrival of this thread's tokens.
__device__ __forceinline__ Arrival RunRace(const SamplerBatch& batch, int row, Arrival earliest) {
  // An arrival is at least (1 - u) / w; less a part in 2^40, that holds of rounded ones too.
  constexpr double kSafely = 1.0 - 0x1p-40;
  const RowRequest request = batch.requests[row];
  const float max = LogitOf(batch.largest[row]);
  const Rank floor = request.is_filtered() ? batch.floors[row] : kLowestNumber;
  const Part part = PartOfRow(batch);
  VisitLogits(RowOf(batch, row), part.begin, part.end, [&](int id, float logit) {
    if (RankOf(logit, id) < floor) return;
    const auto weight = static_cast<double>(WeightOf(logit, max, request.temperature));
    if (!(weight > 0.0) || weight < request.min_p) return;
    const double u = Uniform(request.seed, request.position, id);
    if (__dmul_rn(__dsub_rn(1.0, u), kSafely) >= __dmul_rn(earliest.time, weight)) return;
    earliest = Earlier({__ddiv_rn(-Log(u), weight), id}, earliest);
  });
  return earliest;
}

// Shapes: logits [R, V]. Launch: num_splits CTAs per row.
// Order: the minimum of (time, id), unique in the row: none to fix.
__global__ void __launch_bounds__(kSplitThreads) RaceKernel(const SamplerBatch batch) {
  const auto row = static_cast<int>(blockIdx.y);
  if (!batch.requests[row].is_drawn()) return;
  const Arrival nobody = {__longlong_as_double(0x7ff0000000000000), INT_MAX};
  const Arrival earliest = EarliestOfCta(RunRace(batch, row, nobody));
  Arrival* parts = batch.arrival_parts + row * kMaxSplits;
  if (threadIdx.x == 0) parts[blockIdx.x] = earliest;
  if (!IsLastOfRow(batch, row)) return;
  Arrival own = nobody;
  if (static_cast<int>(threadIdx.x) < batch.num_splits) {
    own = {__ldcg(&parts[threadIdx.x].time), __ldcg(&parts[threadIdx.x].id)};
  }
  const Arrival winner = EarliestOfCta(own);
  if (threadIdx.x == 0 && winner.id != INT_MAX) batch.results[row].token = winner.id;
}

// log(sum of exp(logit - max)) of a row; NaN where there is one, or the maximum is not finite.
__device__ double LogSum(const SamplerBatch& batch, int row, float max, SelectSpace* space) {
  Mass sum = 0;
  bool has_nan = false;
  VisitLogits(RowOf(batch, row), 0, batch.vocab_size, [&](int, float logit) {
    const float weight = WeightOf(logit, max, 1.0);
    has_nan |= weight != weight;
    sum += MassOf(weight);
  });
  SumBefore(space, sum);
  const bool row_has_nan = __syncthreads_or(has_nan) != 0;
  const double total = __ull2double_rn(space->total);
  return row_has_nan ? __longlong_as_double(0x7ff8000000000000) : Log(__dmul_rn(total, kOneOfMass));
}

// The ranks from `last` up, of which there are at most kMaxCandidates, into space->list in any
// order.
__device__ void GatherFrom(const SamplerBatch& batch, int row, Rank last, SelectSpace* space) {
  if (threadIdx.x == 0) space->list_size = 0;
  __syncthreads();
  VisitLogits(RowOf(batch, row), 0, batch.vocab_size, [&](int id, float logit) {
    const Rank rank = RankOf(logit, id);
    if (rank >= last) space->list[atomicAdd(&space->list_size, 1)] = rank;
  });
  __syncthreads();
}

// Shapes: logits [R, V], candidates [R, candidate_stride]. Launch: one CTA per row.
// Order: the sum is of integers; the rest is element by element.
__global__ void __launch_bounds__(kSelectThreads) LogprobKernel(const SamplerBatch batch) {
  __shared__ SelectSpace space;
  const auto row = static_cast<int>(blockIdx.x);
  const RowRequest& request = batch.requests[row];
  if (request.num_top < 0) return;
  const float* logits = RowOf(batch, row);
  const float max = LogitOf(batch.largest[row]);
  const double log_sum = LogSum(batch, row, max, &space);
  const auto logprob = [&](float logit) {
    const double centred = __dsub_rn(static_cast<double>(logit), static_cast<double>(max));
    return __double2float_rn(__dsub_rn(centred, log_sum));
  };
  RowResult* result = batch.results + row;
  if (threadIdx.x == 0) {
    result->logprob = logprob(logits[request.target >= 0 ? request.target : result->token]);
    result->num_candidates = 0;
  }
  if (request.num_top == 0) return;
  const RankedRow ranked = {logits, batch.vocab_size, max, 1.0, kLowestNumber};
  const Rank last = Selection<PrefixSum::kTokens>(ranked, request.num_top, &space).Find();
  GatherFrom(batch, row, last, &space);
  static_assert(kMaxCandidates <= kSelectThreads && kMaxCandidates <= kListCapacity);
  const int size = space.list_size;
  if (threadIdx.x == 0) result->num_candidates = size;
  if (static_cast<int>(threadIdx.x) >= size) return;
  const Rank own = space.list[threadIdx.x];
  int num_above = 0;
  for (int i = 0; i < size; ++i) num_above += space.list[i] > own;
  batch.candidates[static_cast<int64_t>(row) * batch.candidate_stride + num_above] = {
      IdOf(own), logprob(LogitOf(own))};
}

}  // namespace

void LaunchLargest(const SamplerBatch& batch, cudaStream_t stream) {
  LargestKernel<<<dim3(batch.num_splits, batch.num_rows), kSplitThreads, 0, stream>>>(batch);
  DETCHECK_CUDA(cudaGetLastError());
}

void LaunchFilters(const SamplerBatch& batch, cudaStream_t stream) {
  FilterKernel<<<batch.num_rows, kSelectThreads, 0, stream>>>(batch);
  DETCHECK_CUDA(cudaGetLastError());
}

void LaunchRace(const SamplerBatch& batch, cudaStream_t stream) {
  RaceKernel<<<dim3(batch.num_splits, batch.num_rows), kSplitThreads, 0, stream>>>(batch);
  DETCHECK_CUDA(cudaGetLastError());
}

void LaunchLogprobs(const SamplerBatch& batch, cudaStream_t stream) {
  LogprobKernel<<<batch.num_rows, kSelectThreads, 0, stream>>>(batch);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace detcheck::cuda
