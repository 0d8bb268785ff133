#pragma once

#include <cstdint>

#include "engine/embedded/cuda/sampler_row.cuh"

/// Finds how far down the ranking of one row a prefix must reach, by one CTA of kSelectThreads.
namespace detcheck::cuda {

constexpr int kSelectThreads = 1024;
constexpr int kBins = 2048;  // Two for each thread.
constexpr int kListCapacity = kBins;
constexpr float kBinsPerNat = 64;  // Of logit / temperature, in the coarse bins.

/// Shared memory of a selection.
struct SelectSpace {
  uint32_t count[kBins];  ///< Tokens in each bin.
  uint32_t low[kBins];    ///< What the prefix adds up, in each bin: its low and high halves.
  uint32_t high[kBins];
  Rank list[kListCapacity];
  unsigned long long warp_sums[kWarpSize];
  unsigned long long total;
  unsigned long long before;  ///< Sum of the bins before `found`.
  int found;
  int list_size;
};

/// What is ranked: the tokens of a row whose rank is at least `floor`.
struct RankedRow {
  const float* logits;
  int vocab_size;
  float max;
  double temperature;
  Rank floor;
};

/// What a prefix of the ranking adds up.
enum class PrefixSum { kTokens, kMass };

/// Ranks from `low` to `high` whose coarse bin is `coarse` (-1: not told apart by coarse bins: then
/// they are binned by them), cut into bins of 2^shift.
struct RankRange {
  Rank low;
  Rank high;
  int coarse;
  int shift;
};

/// Falls with the logit, so that each coarse bin is a run of the ranking. 64 bins to a nat: in a
/// usual row few tokens meet in one but the last, which takes all from 32 nats below the maximum,
/// the infinite and the rest of a row without a finite maximum: masses of 0.
__device__ __forceinline__ int CoarseBin(float logit, float max, float bins_per_logit) {
  const float distance = __fmul_rn(__fsub_rn(max, logit), bins_per_logit);
  return static_cast<int>(fminf(distance, static_cast<float>(kBins - 1)));  // NaN: the last one.
}

/// Integers mod 2^32 in two halves, since shared memory adds no 64 bits at once.
__device__ __forceinline__ void AddToBin(SelectSpace* space, int bin, unsigned long long value) {
  const auto low = static_cast<uint32_t>(value);
  auto high = static_cast<uint32_t>(value >> 32);
  if (low != 0) high += atomicAdd(&space->low[bin], low) > ~low;
  if (high != 0) atomicAdd(&space->high[bin], high);
}

__device__ __forceinline__ void ClearBins(SelectSpace* space) {
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += kSelectThreads) {
    space->count[i] = space->low[i] = space->high[i] = 0;
  }
  __syncthreads();
}

/// The sum of all bins before this thread's two. Leaves the sum of all in space->total.
__device__ inline unsigned long long SumBefore(SelectSpace* space, unsigned long long own) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  unsigned long long sum = own;
  for (int step = 1; step < kWarpSize; step *= 2) {
    const unsigned long long other = __shfl_up_sync(kWholeWarp, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == kWarpSize - 1) space->warp_sums[warp] = sum;
  __syncthreads();
  unsigned long long before = 0;
  for (int w = 0; w < warp; ++w) before += space->warp_sums[w];
  if (threadIdx.x == kSelectThreads - 1) space->total = before + sum;
  __syncthreads();
  return before + sum - own;
}

/// Finds the first bin at which the sum of bins reaches what is wanted: `wanted` (>= 1), or where
/// that is 0, `share` of the total, which is then left in `wanted`. space->found is -1 where the
/// total is less.
__device__ inline void FindBin(SelectSpace* space, double share, unsigned long long* wanted) {
  const auto bin = static_cast<int>(threadIdx.x) * 2;
  const auto value = [&](int i) {
    return static_cast<unsigned long long>(space->high[i]) << 32 | space->low[i];
  };
  const unsigned long long first = value(bin);
  const unsigned long long second = value(bin + 1);
  if (threadIdx.x == 0) space->found = -1;
  const unsigned long long before = SumBefore(space, first + second);
  if (*wanted == 0) {
    const double sum = ceil(__dmul_rn(share, __ull2double_rn(space->total)));
    *wanted = max(1ull, min(__double2ull_rz(sum), space->total));
  }
  if (before < *wanted && before + first >= *wanted) {
    space->found = bin;
    space->before = before;
  } else if (before + first < *wanted && before + first + second >= *wanted) {
    space->found = bin + 1;
    space->before = before + first;
  }
  __syncthreads();
}

/// Puts `list` in descending order. `size` is a power of two, at most kListCapacity.
__device__ inline void SortList(Rank* list, int size) {
  for (int run = 2; run <= size; run *= 2) {
    for (int distance = run / 2; distance > 0; distance /= 2) {
      const auto thread = static_cast<int>(threadIdx.x);
      const int i = 2 * thread - (thread & (distance - 1));
      if (i + distance < size) {
        const Rank a = list[i];
        const Rank b = list[i + distance];
        if ((a < b) == ((i & run) == 0)) list[i] = b, list[i + distance] = a;
      }
      __syncthreads();
    }
  }
}

/// One selection; every thread of the CTA has one of equal value.
template <PrefixSum kSum>
class Selection {
 public:
  /// Of a prefix of `amount` tokens (>= 1), or with the share `amount` of the mass of all that are
  /// ranked.
  __device__ Selection(const RankedRow& row, double amount, SelectSpace* space)
      : row_(row), space_(space) {
    wanted_ = kSum == PrefixSum::kTokens ? static_cast<unsigned long long>(amount) : 0;
    share_ = amount;
    bins_per_logit_ = fminf(static_cast<float>(kBinsPerNat / row.temperature), 3.0e38f);
  }

  /// The rank of the last token of the shortest prefix that reaches the amount; `floor` where none
  /// does. Order: integer sums alone, so none to fix; a function of the row and of `amount`.
  ///
  /// Tokens are counted (or their masses added) in coarse bins of the logit; the bin in which the
  /// amount is reached is cut into finer ones of the rank's bits until it fits into shared memory,
  /// and is sorted there.
  __device__ Rank Find() {
    RankRange range = {row_.floor, ~Rank{0}, -1, 0};
    for (;;) {
      FillBins(range);
      FindBin(space_, share_, &wanted_);
      const bool is_found = space_->found >= 0;
      // The last coarse bin was left out. It has no mass.
      const bool is_in_rest = !is_found && range.coarse < 0 && kSum == PrefixSum::kTokens;
      if (!is_found && !is_in_rest) return row_.floor;
      const int found = is_found ? space_->found : kBins - 1;
      const bool fits = is_found && space_->count[found] <= kListCapacity;
      wanted_ -= is_found ? space_->before : space_->total;
      Narrow(found, &range);
      __syncthreads();  // All have read what the next pass overwrites.
      if (fits) return LastOfList(range);
    }
  }

 private:
  __device__ __forceinline__ bool IsIn(const RankRange& range, float logit, Rank rank) const {
    return rank >= range.low && rank <= range.high &&
           (range.coarse < 0 || CoarseBin(logit, row_.max, bins_per_logit_) == range.coarse);
  }

  __device__ __forceinline__ unsigned long long ValueOf(float logit) const {
    if constexpr (kSum == PrefixSum::kTokens) return 1;
    return MassOf(WeightOf(logit, row_.max, row_.temperature));
  }

  __device__ void FillBins(const RankRange& range) {
    ClearBins(space_);
    VisitLogits(row_.logits, 0, row_.vocab_size, [&](int id, float logit) {
      const Rank rank = RankOf(logit, id);
      if (!IsIn(range, logit, rank)) return;
      const int bin = range.coarse < 0 ? CoarseBin(logit, row_.max, bins_per_logit_)
                                       : static_cast<int>((range.high - rank) >> range.shift);
      if (range.coarse < 0 && bin == kBins - 1) return;  // Many may meet there.
      atomicAdd(&space_->count[bin], 1u);
      AddToBin(space_, bin, ValueOf(logit));
    });
    __syncthreads();
  }

  // Makes `range` its bin `found`, and chooses the bins it is cut into next.
  __device__ void Narrow(int found, RankRange* range) const {
    if (range->coarse < 0) {
      range->coarse = found;
    } else {
      const Rank span = (Rank{1} << range->shift) - 1;
      range->high -= static_cast<Rank>(found) << range->shift;
      if (range->high - range->low > span) range->low = range->high - span;
    }
    constexpr int kBinBits = 11;
    static_assert(1 << kBinBits == kBins);
    const int bits = 64 - __clzll(static_cast<long long>(range->high - range->low));
    range->shift = max(0, bits - kBinBits);
  }

  // Sorts the tokens of `range`, which fit, and walks them to the amount.
  __device__ Rank LastOfList(const RankRange& range) {
    if (threadIdx.x == 0) space_->list_size = 0;
    ClearBins(space_);
    VisitLogits(row_.logits, 0, row_.vocab_size, [&](int id, float logit) {
      const Rank rank = RankOf(logit, id);
      if (IsIn(range, logit, rank)) space_->list[atomicAdd(&space_->list_size, 1)] = rank;
    });
    __syncthreads();
    const int size = space_->list_size;
    int padded = 2;
    while (padded < size) padded *= 2;
    for (int i = size + static_cast<int>(threadIdx.x); i < padded; i += kSelectThreads) {
      space_->list[i] = 0;
    }
    __syncthreads();
    SortList(space_->list, padded);
    for (int i = static_cast<int>(threadIdx.x); i < size; i += kSelectThreads) {
      AddToBin(space_, i, ValueOf(LogitOf(space_->list[i])));
    }
    __syncthreads();
    FindBin(space_, share_, &wanted_);
    const Rank last = space_->list[space_->found];
    __syncthreads();
    return last;
  }

  RankedRow row_;
  SelectSpace* space_;
  double share_;
  unsigned long long wanted_;  // From here to the end of the prefix; 0: not known yet.
  float bins_per_logit_;
};

}  // namespace detcheck::cuda
