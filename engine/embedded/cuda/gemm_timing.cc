#include "engine/embedded/cuda/gemm_timing.h"

#include <algorithm>
#include <limits>

namespace detcheck::cuda {
namespace {

// Milliseconds that each candidate should be timed for, so that events resolve small differences.
constexpr double kGroupMs = 0.2;
constexpr int kMaxRepeats = 20;
// Those within this factor of the fastest are timed again, several times in turn.
constexpr double kFinalistFactor = 1.1;
constexpr size_t kMaxFinalists = 8;
constexpr int kFinalRounds = 7;
// In these, large products run for so long at once that the clocks are those of steady work.
constexpr double kFinalGroupMs = 4.0;
constexpr int kMaxFinalRepeats = 4;
// Differences below this are within what two runs differ by.
constexpr double kTrustedFactor = 1.02;

class Timer {
 public:
  Timer(GemmTrial* trial, std::span<const cublasLtMatmulAlgo_t> candidates, int m)
      : trial_(trial), candidates_(candidates), m_(m) {}

  /// Milliseconds of one product by each of `which`. All are queued before the first is waited for,
  /// so that the device does not wait for the host.
  std::vector<double> Time(std::span<const size_t> which, int repeats) {
    std::vector<Event> events(which.size() + 1);
    std::vector<bool> taken(which.size());
    trial_->Launch(candidates_[which.front()], m_);
    events.front().Record(trial_->stream());
    for (size_t i = 0; i < which.size(); ++i) {
      taken[i] = true;
      for (int r = 0; r < repeats && taken[i]; ++r) {
        taken[i] = trial_->Launch(candidates_[which[i]], m_);
      }
      events[i + 1].Record(trial_->stream());
    }
    events.back().Synchronize();
    std::vector<double> ms(which.size(), std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < which.size(); ++i) {
      if (taken[i]) ms[i] = double{events[i + 1].MillisecondsSince(events[i])} / repeats;
    }
    return ms;
  }

 private:
  GemmTrial* trial_;
  std::span<const cublasLtMatmulAlgo_t> candidates_;
  int m_;
};

int Repeats(double product_ms) {
  return static_cast<int>(std::clamp(kGroupMs / product_ms, 1.0, double{kMaxRepeats}));
}

int FinalRepeats(double product_ms) {
  const auto steady =
      static_cast<int>(std::clamp(kFinalGroupMs / product_ms, 1.0, double{kMaxFinalRepeats}));
  return std::max(Repeats(product_ms), steady);
}

// Sorts `which` and the milliseconds beside it by the latter.
void SortByTime(std::vector<size_t>* which, std::vector<double>* ms) {
  std::vector<std::pair<double, size_t>> pairs;
  for (size_t i = 0; i < which->size(); ++i) pairs.emplace_back((*ms)[i], (*which)[i]);
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) {
    (*ms)[i] = pairs[i].first;
    (*which)[i] = pairs[i].second;
  }
}

// The median of several rounds for each of `which`, one after another in each round.
std::vector<double> MedianTimes(Timer* timer, std::span<const size_t> which, int repeats) {
  std::vector<std::vector<double>> rounds(which.size());
  for (int round = 0; round < kFinalRounds; ++round) {
    const std::vector<double> ms = timer->Time(which, repeats);
    for (size_t i = 0; i < which.size(); ++i) rounds[i].push_back(ms[i]);
  }
  std::vector<double> medians;
  for (std::vector<double>& ms : rounds) {
    std::nth_element(ms.begin(), ms.begin() + kFinalRounds / 2, ms.end());
    medians.push_back(ms[kFinalRounds / 2]);
  }
  return medians;
}

}  // namespace

std::vector<size_t> RankBySpeed(GemmTrial* trial, std::span<const cublasLtMatmulAlgo_t> candidates,
                                int m, size_t favourite) {
  std::vector<size_t> ranking;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (trial->Usable({candidates[i], trial->shape().output, m})) ranking.push_back(i);
  }
  if (ranking.size() < 2) return ranking;
  Timer timer(trial, candidates, m);
  const double first_ms = timer.Time(std::span(ranking).first(1), 2).front();
  std::vector<double> ms = timer.Time(ranking, Repeats(first_ms));
  SortByTime(&ranking, &ms);

  const size_t most = std::min(kMaxFinalists, ranking.size());
  size_t num_finalists = 1;
  while (num_finalists < most && ms[num_finalists] <= kFinalistFactor * ms.front()) ++num_finalists;
  std::vector<size_t> finalists(ranking.begin(),
                                ranking.begin() + static_cast<std::ptrdiff_t>(num_finalists));
  const auto in_ranking = std::find(ranking.begin(), ranking.end(), favourite);
  if (in_ranking - ranking.begin() >= static_cast<std::ptrdiff_t>(num_finalists) &&
      in_ranking != ranking.end()) {
    std::rotate(ranking.begin(), in_ranking, in_ranking + 1);
    finalists.insert(finalists.begin(), favourite);
  }
  std::vector<double> medians = MedianTimes(&timer, finalists, FinalRepeats(ms.front()));
  SortByTime(&finalists, &medians);
  std::copy(finalists.begin(), finalists.end(), ranking.begin());
  const auto found = std::find(finalists.begin(), finalists.end(), favourite);
  if (found != finalists.end() &&
      medians[static_cast<size_t>(found - finalists.begin())] <= kTrustedFactor * medians.front()) {
    std::rotate(ranking.begin(), ranking.begin() + (found - finalists.begin()),
                ranking.begin() + (found - finalists.begin()) + 1);
  }
  return ranking;
}

}  // namespace detcheck::cuda
