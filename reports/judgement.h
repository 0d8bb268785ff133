#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "fixtures/plan.h"
#include "reports/bound.h"
#include "reports/text_findings.h"
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

/// With what a divergence goes: the axis of the statement, or the kind of statement.
enum class ConditionKind {
  kNone,  ///< Nothing diverged, or nothing simple says when.
  kFormedSize,
  kNeighbourPrefill,
  kSameStepPrefill,
  kCachedTokens,
  kItem,
  kHistory,
  kChunkBoundary,     ///< How the prompt was cut into chunks.
  kAbsolutePosition,  ///< Where several different answers all leave the reference.
  kOtherAxis,         ///< An axis of the plan that is none of these.
  kTwoAxes,           ///< One of them where another is large enough.
  kVariedSteps,       ///< All that was varied.
  kIntermittent,      ///< Equal conditions do not give equal answers.
  kRestart,           ///< Another start of the target.
  kReplica,           ///< Another replica of the target.
  kFirstRun,          ///< The first run, and nothing after it.
};

std::string ToString(ConditionKind kind);

/// How near the two best candidates were where tokens part: "0", "<=0.125", "<=0.7", ">0.7" nats.
/// The first two are within what rounding of half-precision logits moves, the last is not.
enum class NearTie { kZero, kEighth, kTenths, kNone };

std::string ToString(NearTie near_tie);

/// What the answers to a request are told apart by.
enum class TokenIdentity {
  kIds,   ///< Token IDs. Where some answers have them and others do not, they decide.
  kText,  ///< The text's bytes, as no answer has IDs. Tokens of equal text are not told apart.
};

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
  int num_samples = 0;           ///< Samples that answered as `actual` did.
  bool breaks_criterion = true;  ///< Counts against the declared criterion; else only shown.
  /// First output position whose tokens differ; the shorter length where one is a prefix of the
  /// other, or where only the finish reasons differ; absent where the answers are equal, or have no
  /// token IDs. An answer that was aborted is not different for being short.
  std::optional<int> index;
  /// Likewise the first byte at which the texts differ, where there are no token IDs to compare.
  std::optional<int> text_offset;
  std::optional<int> absolute_position;  ///< prompt length + index.
  /// First output position, up to `index`, at which a logprob that both tell (of the chosen token
  /// or of a candidate) differs in bits, or one tells a candidate that the other's list leaves out
  /// though it has less probable ones. Without token IDs: place in the list of logprobs, up to the
  /// first token whose bytes differ.
  std::optional<int> first_logprob_index;
  std::optional<TokenId> expected_token;  ///< At `index`; absent where the answer had ended.
  std::optional<TokenId> actual_token;
  /// expected's logprob of its two best candidates, best minus second, in nats, at `index`.
  std::optional<double> gap;
  /// Class of `gap`, where the cause is numeric and the temperature 0. Above 0 the draw's noise
  /// decides together with the logprobs, and no target tells its noise: there is no margin to give.
  std::optional<NearTie> near_tie;
  /// Largest finite difference of the logprobs that both tell, up to `index`.
  std::optional<double> max_logprob_difference;
  /// A hint, no cause: where logprobs first differ they do by more than 1 nat. Rounding rarely does
  /// that, corrupted state does.
  bool suspected_state = false;
  Cause cause = Cause::kUnknown;
  bool by_control = false;  ///< Both samples are of the control arm.
};

/// Decoded logprobs of an answer against those that prefill gives to its tokens (p_vs_d).
struct PrefillComparison {
  int num_positions = 0;                 ///< Tokens of the answer that were scored.
  int num_scores = 0;                    ///< Times that they were.
  int unique_scores = 0;                 ///< Distinct traces among those.
  int num_different = 0;                 ///< Positions whose two logprobs differ in bits.
  std::optional<int> index;              ///< First such output position.
  std::optional<int> absolute_position;  ///< prompt length + index.
  double max_logprob_difference = 0.0;   ///< Largest finite one, in nats.
  /// Mean over the positions of exp(d) - 1 - d, d = prefill - decode: an estimate, never negative,
  /// of the KL divergence of decode from prefill (Schulman's k3). Absent where not finite.
  std::optional<double> mean_k3;
};

/// Samples of a request by what was found of their texts, under a criterion on single texts.
struct ValidityCounts {
  int num_valid = 0;
  int num_invalid = 0;
  int num_unknown = 0;
};

/// Judgement of one planned request in one mode. Samples are all its answers in all attempts of all
/// steps but preparations; answers that ended in an error, and aborted ones without a token, are
/// not samples. A trace is the sequence of (token ID, bits of the chosen token's logprob), with the
/// token's bytes in place of its ID where the target gives none.
struct RequestJudgement {
  Mode mode = Mode::kSingle;
  int request = 0;  ///< Index into Plan::requests.
  bool subject = true;
  TokenIdentity identity = TokenIdentity::kIds;
  int total_samples = 0;
  int unique_samples = 0;
  std::vector<int> sample_counts;  ///< Of each distinct output, in order of first appearance.
  int traced_samples = 0;          ///< Samples that have logprobs.
  int unique_traces = 0;
  std::vector<int> trace_counts;
  std::optional<int> unique_texts;
  std::optional<ValidityCounts> validity;  ///< Where the criterion is of single texts.
  std::optional<SampleRef> reference;      ///< What the others are held against.
  std::vector<Divergence> divergences;  ///< One per distinct output or trace against the reference.
  /// The pair of samples, over all pairs, that differ at the earliest position. One of the two is
  /// always the reference: where two others differ at a position, one of them differs from the
  /// reference there or before.
  std::optional<Divergence> earliest;
  std::optional<PrefillComparison> prefill;  ///< Of a request whose answer was scored.
  Verdict verdict = Verdict::kInconclusive;
  std::vector<std::string> reasons;  ///< Why, in words; never empty unless the verdict is pass.
  Cause cause = Cause::kNone;
  ConditionKind condition_kind = ConditionKind::kNone;
  std::string condition;  ///< With what the divergence goes, in words; empty where kNone.
};

/// Judgement of one mode.
struct ModeJudgement {
  Mode mode = Mode::kSingle;
  std::optional<int> replica;    ///< Whose answers, where several replicas were asked.
  bool across_replicas = false;  ///< All of theirs, held against each other.
  Verdict verdict = Verdict::kInconclusive;
  /// Whether the verdict of the whole hears it. Not where the mode was not asked for by name, and
  /// the target cannot do it or, of p_vs_d, does not claim that decoding gives what prefill gives.
  bool decides = true;
  std::vector<std::string> reasons;
  std::vector<std::string> notes;  ///< What the criterion was resolved to, and the like.
  int num_batches = 0;             ///< Distinct released batches that count: n of the bound.
  double bound = 1.0;              ///< 95 % upper bound of the divergence rate, 1 - 0.05^(1/n).
  std::vector<int> formed_sizes;   ///< Distinct formed sizes seen, ascending.
  std::vector<RequestJudgement> requests;
};

struct Judgement {
  std::string criterion_digest;              ///< Of the plan's criterion, by which it was judged.
  Verdict verdict = Verdict::kInconclusive;  ///< Of the modes that decide, and of the run.
  std::vector<std::string> reasons;  ///< What bears on the whole run: interrupted, target changed.
  std::vector<std::string> notes;    ///< What a reader must know beside the verdict.
  std::vector<ModeJudgement> modes;  ///< In plan order; unplanned ones as kUnsupported.
};

/// What a mode's judgement is called: "batch", "batch, replica 2", "batch, across replicas".
std::string NameOfMode(const ModeJudgement& mode);
/// The same as one word: "batch", "batch.replica-2", "batch.replicas".
std::string SlugOfMode(const ModeJudgement& mode);

/// Makes the judgement inconclusive where the plan requires a scope that the run says nothing of.
void JudgeRequiredScope(const Plan& plan, const Transcript& transcript, Judgement* judgement);

/// The verdict of the whole: fail over error over inconclusive over unsupported over pass.
Verdict Worse(Verdict a, Verdict b);

/// Judges a transcript. `subject`: what the target says of itself. `texts`: what was found of all
/// texts that are judged, where the criterion is of single texts. Pure; never throws for what a
/// target answered.
Judgement Judge(const Plan& plan, const Transcript& transcript, const Manifest& subject = {},
                const TextFindings& texts = {});

/// Whether answers differ that should not. Else a verdict of fail means that all texts of a request
/// are invalid alike.
bool FoundNondeterminism(const Judgement& judgement);

/// Whether the target claims that decoding gives what prefill gives: it runs in a deterministic
/// mode.
bool ClaimsDecodeAsPrefill(const Manifest& subject);

/// Exit code of a verdict: pass 0, fail 1, inconclusive and unsupported 3, error 4.
int ExitCode(Verdict verdict);

}  // namespace detcheck
