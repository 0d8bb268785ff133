#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/transcript.h"

namespace detcheck {

enum class Verdict { kPass, kFail, kInconclusive, kUnsupported, kError };

std::string ToString(Verdict verdict);

/// Why samples differ. `kUnknown`: the target gives too little to tell.
enum class Cause {
  kNone,
  kInput,
  kExactTie,
  kNotRepeatable,
  kFirstRunOnly,
  kPrefixCache,
  kSampling,
  kNumeric,
  kUnknown,
};

std::string ToString(Cause cause);

/// A sample's place in the transcript.
struct SampleRef {
  int record = 0;  ///< Index into Transcript::records.
  int item = 0;
  bool operator==(const SampleRef&) const = default;
};

/// How one output differs from another.
struct Divergence {
  SampleRef expected;  ///< The reference (or the pair's first).
  SampleRef actual;
  /// First output position whose tokens differ; the shorter length where one is a prefix of the
  /// other; absent where the tokens are equal.
  std::optional<int> index;
  std::optional<int> absolute_position;    ///< prompt length + index.
  std::optional<int> first_logprob_index;  ///< First output position whose logprobs differ in bits.
  std::optional<TokenId> expected_token;
  std::optional<TokenId> actual_token;
  /// expected's logprob of its two best candidates, best minus second, in nats, at `index`.
  std::optional<double> gap;
  std::optional<double> max_logprob_difference;  ///< Over the positions with equal prefixes.
  Cause cause = Cause::kUnknown;
  bool by_control = false;  ///< Both samples are of the control arm.
};

/// Judgement of one planned request in one mode.
struct RequestJudgement {
  Mode mode = Mode::kSingle;
  int request = 0;  ///< Index into Plan::requests.
  bool subject = true;
  int total_samples = 0;
  int unique_samples = 0;
  std::vector<int> sample_counts;  ///< Of each distinct output, in order of first appearance.
  int traced_samples = 0;          ///< Samples that have logprobs.
  int unique_traces = 0;
  std::vector<int> trace_counts;
  std::optional<int> unique_texts;
  std::vector<Divergence> divergences;  ///< One per distinct output or trace against the reference.
  /// The pair of samples, over all pairs, that differ at the earliest position.
  std::optional<Divergence> earliest;
  Verdict verdict = Verdict::kInconclusive;
  std::vector<std::string> reasons;  ///< Why, in words; never empty unless the verdict is pass.
  Cause cause = Cause::kNone;
  std::string condition;             ///< With which varied axis the divergence goes; may be empty.
};

/// Judgement of one mode.
struct ModeJudgement {
  Mode mode = Mode::kSingle;
  Verdict verdict = Verdict::kInconclusive;
  std::vector<std::string> reasons;
  int num_batches = 0;         ///< Distinct released batches that count: n of the bound.
  double bound = 1.0;          ///< 95 % upper bound of the divergence rate, 1 - 0.05^(1/n).
  std::vector<int> formed_sizes;  ///< Distinct formed sizes seen, ascending.
  std::vector<RequestJudgement> requests;
};

struct Judgement {
  Verdict verdict = Verdict::kInconclusive;
  std::vector<ModeJudgement> modes;  ///< In plan order; unplanned ones as kUnsupported.
};

/// Judges a transcript. Pure; never throws for what a target answered.
Judgement Judge(const Plan& plan, const Transcript& transcript);

/// 1 - 0.05^(1/n), n >= 1: with zero events in n independent trials the event's rate is below this
/// with 95 % confidence (Hanley and Lippman-Hand, JAMA 249, 1983).
double UpperBound95(int n);

/// Exit code of a verdict: pass 0, fail 1, inconclusive and unsupported 3, error 4.
int ExitCode(Verdict verdict);

}  // namespace detcheck
