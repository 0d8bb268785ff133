#include "engine/embedded/cuda/gemm_class.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/gemm_candidates.h"
#include "engine/embedded/cuda/gemm_timing.h"

namespace detcheck::cuda {
namespace {

using Algos = std::vector<cublasLtMatmulAlgo_t>;

// Configurations for float32 output that are tried as the reference.
constexpr size_t kMaxReferences = 4;

[[noreturn]] void ThrowNoClass(const GemmShape& shape, const std::string& fact) {
  throw Error(ErrorCode::kUnsupported,
              GemmName(shape) + ": deterministic mode does not hold on this device: " + fact);
}

// The result of verifying one bucket.
struct BucketCheck {
  bool holds = false;
  std::string why_not;
  bool with_float32 = false;
  int64_t num_rows = 0;
};

BucketCheck VerifyBucket(const CublasLt& cublas, int first_m, const GemmBucket& bucket,
                         GemmTrial* trial) {
  if (!IsUnsplit(bucket.algo)) return {.why_not = "K is split"};
  const GemmOutput output = trial->shape().output;
  BucketCheck check;
  check.with_float32 = output == GemmOutput::kFloat32;
  std::optional<cublasLtMatmulAlgo_t> twin;
  if (output == GemmOutput::kBf16) twin = Float32Twin(cublas, bucket.algo);
  std::vector<GemmTrial::Product> products;
  // The smallest M, an odd one between, the largest.
  const int middle_m = std::min(bucket.max_m, (first_m + bucket.max_m) / 2 | 1);
  for (const int m : std::set<int>{first_m, middle_m, bucket.max_m}) {
    products.push_back({bucket.algo, output, m});
    if (!trial->Usable(products.back())) {
      return {.why_not = "the library cannot do M = " + std::to_string(m) + " with it"};
    }
    const GemmTrial::Product float32 = {twin.value_or(bucket.algo), GemmOutput::kFloat32, m};
    if (!twin || !trial->Usable(float32)) continue;
    products.push_back(float32);
    check.with_float32 = true;
  }
  const std::vector<uint32_t> counts = trial->CountDifferences(products);
  check.holds = true;
  for (size_t i = 0; i < products.size(); ++i) {
    check.num_rows += products[i].m;
    if (counts[i] == 0) continue;
    check.holds = false;
    check.why_not =
        (counts[i] == GemmTrial::kRefused ? "the library refuses"
                                          : std::to_string(counts[i]) + " elements differ at") +
        " M = " + std::to_string(products[i].m) +
        (products[i].output == output ? "" : " with float32 output");
  }
  return check;
}

std::vector<BucketCheck> VerifyBuckets(const CublasLt& cublas,
                                       const std::vector<GemmBucket>& buckets, GemmTrial* trial) {
  std::vector<BucketCheck> checks;
  int first_m = 1;
  for (const GemmBucket& bucket : buckets) {
    checks.push_back(VerifyBucket(cublas, first_m, bucket, trial));
    first_m = bucket.max_m + 1;
  }
  return checks;
}

bool AllHold(const std::vector<BucketCheck>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const BucketCheck& c) { return c.holds; });
}

GemmVerification Summarize(const std::vector<GemmBucket>& buckets,
                           const std::vector<BucketCheck>& checks) {
  GemmVerification verification;
  std::map<std::array<uint64_t, 8>, bool> configurations;  // Whether compared with float32.
  for (size_t b = 0; b < buckets.size(); ++b) {
    std::array<uint64_t, 8> words;
    std::copy(std::begin(buckets[b].algo.data), std::end(buckets[b].algo.data), words.begin());
    bool& with_float32 = configurations[words];
    with_float32 = with_float32 || checks[b].with_float32;
    verification.num_rows += checks[b].num_rows;
  }
  verification.num_configurations = static_cast<int>(configurations.size());
  for (const auto& [words, with_float32] : configurations) {
    verification.num_float32 += with_float32 ? 1 : 0;
  }
  return verification;
}

// Those of `candidates` whose rows in a small product have the bits of the reference; of the others
// `num_others` tells how many.
Algos Members(const Algos& candidates, int m, GemmTrial* trial, size_t* num_others) {
  std::vector<GemmTrial::Product> products;
  for (const cublasLtMatmulAlgo_t& algo : candidates) {
    products.push_back({algo, trial->shape().output, m});
  }
  Algos members;
  *num_others = 0;
  const std::vector<uint32_t> counts = trial->CountDifferences(products);
  for (size_t i = 0; i < candidates.size(); ++i) {
    // One that cannot do so few rows shows its bits when its bucket is verified.
    if (counts[i] == 0 || counts[i] == GemmTrial::kRefused) members.push_back(candidates[i]);
    if (counts[i] != 0 && counts[i] != GemmTrial::kRefused) ++*num_others;
  }
  return members;
}

// Sets the trial's reference to one that more than half of the candidates agree with, and returns
// these. Unsplit configurations have been seen to be one class without exception; where a device
// has a few that differ, they are left out here.
Algos FindClass(const CublasLt& cublas, const std::vector<int>& edges, GemmTrial* trial,
                cublasLtMatmulAlgo_t* reference) {
  const GemmShape& shape = trial->shape();
  const int m = std::min(GemmTrial::kNumProbes, edges.back());
  std::vector<int> ms = edges;
  for (const int edge : edges) {
    if (edge < edges.back()) ms.push_back(edge + 1);
  }
  const Algos candidates = UnsplitCandidates(cublas, shape, ms);
  const GemmShape float32_shape = {shape.n, shape.k, GemmOutput::kFloat32};
  Algos references = UnsplitCandidates(cublas, float32_shape, std::array{1});
  std::erase_if(references, [&](const cublasLtMatmulAlgo_t& algo) {
    return !trial->Usable({algo, GemmOutput::kFloat32, 1});
  });
  if (references.size() > kMaxReferences) references.resize(kMaxReferences);
  size_t most = 0;
  for (const cublasLtMatmulAlgo_t& algo : references) {
    if (!trial->SetReference(algo)) continue;
    *reference = algo;
    size_t num_others = 0;
    Algos members = Members(candidates, m, trial, &num_others);
    if (members.size() > num_others) return members;
    most = std::max(most, members.size());
  }
  ThrowNoClass(shape, "of " + std::to_string(candidates.size()) +
                          " configurations without a split of K at most " + std::to_string(most) +
                          " have the bits of rows computed alone");
}

}  // namespace

const GemmBucket& GemmClass::BucketOf(int m) const {
  return *std::lower_bound(buckets.begin(), buckets.end(), m,
                           [](const GemmBucket& bucket, int rows) { return bucket.max_m < rows; });
}

std::vector<int> GemmBucketEdges(int max_m) {
  std::vector<int> edges;
  for (int edge = 1; edge < max_m; edge *= 2) edges.push_back(edge);
  edges.push_back(max_m);
  return edges;
}

GemmClass ChooseGemmClass(const CublasLt& cublas, int max_m, GemmTrial* trial,
                          GemmVerification* verification) {
  const std::vector<int> edges = GemmBucketEdges(max_m);
  GemmClass choice;
  const Algos members = FindClass(cublas, edges, trial, &choice.reference);
  std::vector<std::vector<size_t>> rankings;
  rankings.reserve(edges.size());
  for (const int edge : edges) {
    rankings.push_back(
        RankBySpeed(trial, members, edge, FirstHeuristic(cublas, trial->shape(), edge, members)));
  }
  std::vector<std::set<size_t>> dropped(edges.size());
  std::vector<std::string> why_dropped(edges.size(), "none can do it");
  while (true) {
    std::vector<size_t> chosen;
    choice.buckets.clear();
    for (size_t b = 0; b < edges.size(); ++b) {
      const auto best = std::find_if(rankings[b].begin(), rankings[b].end(),
                                     [&](size_t i) { return !dropped[b].contains(i); });
      if (best == rankings[b].end()) {
        ThrowNoClass(trial->shape(), "no configuration without a split of K gives rows of M = " +
                                         std::to_string(edges[b]) + " the bits of M = 1, of " +
                                         std::to_string(rankings[b].size()) +
                                         " tried: " + why_dropped[b]);
      }
      chosen.push_back(*best);
      choice.buckets.push_back({edges[b], members[*best]});
    }
    const std::vector<BucketCheck> checks = VerifyBuckets(cublas, choice.buckets, trial);
    if (AllHold(checks)) {
      *verification = Summarize(choice.buckets, checks);
      return choice;
    }
    for (size_t b = 0; b < edges.size(); ++b) {
      if (checks[b].holds) continue;
      dropped[b].insert(chosen[b]);
      why_dropped[b] = checks[b].why_not;
    }
  }
}

std::optional<GemmVerification> VerifyGemmClass(const CublasLt& cublas, const GemmClass& choice,
                                                GemmTrial* trial) {
  if (!IsUnsplit(choice.reference) || !trial->SetReference(choice.reference)) return std::nullopt;
  const std::vector<BucketCheck> checks = VerifyBuckets(cublas, choice.buckets, trial);
  if (!AllHold(checks)) return std::nullopt;
  return Summarize(choice.buckets, checks);
}

}  // namespace detcheck::cuda
