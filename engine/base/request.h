#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace detcheck {

using TokenId = int32_t;

/// How the next token is chosen. Every field is always sent to a target explicitly.
struct Sampling {
  double temperature = 0.0;  ///< 0: greedy. Finite, >= 0.
  double top_p = 1.0;        ///< In (0, 1]; 1: off.
  int top_k = -1;            ///< >= 1, or -1: off.
  double min_p = 0.0;        ///< In [0, 1]; 0: off. Relative to the most probable token.
  uint64_t seed = 42;        ///< Of this request; used at temperature > 0 only. At most 2^53.

  bool operator==(const Sampling&) const = default;
};

/// Whether a request may be answered out of the prefix cache.
enum class CacheWish {
  kAllow,   ///< May read the prefix cache, and leaves its own pages in it.
  kBypass,  ///< Must not read it. What the target does with its pages is the target's affair.
};

/// One request, whole: equal requests must get equal answers.
struct Request {
  std::vector<TokenId> prompt_ids;  ///< Never empty.
  Sampling sampling;
  int max_new_tokens = 128;  ///< >= 1.
  bool ignore_eos = true;
  std::optional<int> top_logprobs;  ///< Absent: no logprobs. n: the chosen token's and the n best.
  CacheWish cache = CacheWish::kAllow;
  /// Requests of different salts share nothing of the prefix cache. Embedded engine only.
  std::string cache_salt;
  /// What is sent in place of the IDs to a target that takes none: text whose IDs these are. Set
  /// where it is sent, never part of a plan.
  std::optional<std::string> prompt_text;
};

/// When an item of a batch is handed to the target.
struct Release {
  enum class Kind {
    kAtOnce,
    kAfterTokens,   ///< As soon as item `item` of the same step has answered `count` tokens.
    kAtEngineStep,  ///< At engine step `count` of the batch (0-based); embedded engine only.
  };
  Kind kind = Kind::kAtOnce;
  int item = 0;   ///< kAfterTokens only.
  int count = 0;  ///< Tokens (>= 1) or engine step (>= 0).

  bool operator==(const Release&) const = default;
};

/// A request as one item of a batch.
struct BatchItem {
  Request request;
  Release release;
  std::optional<int> abort_after_tokens;  ///< Cancelled once it has answered this many (>= 1).
};

enum class FinishReason {
  kLength,  ///< max_new_tokens reached.
  kStop,    ///< An end-of-sequence token.
  kAbort,   ///< Cancelled as asked.
  kError,   ///< Completion::error says why.
};

struct TokenCandidate {
  TokenId id = 0;
  double logprob = 0.0;  ///< Natural logarithm; float32 values are widened exactly.

  bool operator==(const TokenCandidate&) const = default;
};

/// What a target says of one position: the logprob of the token there and the best candidates,
/// most probable first, ties by lowest id.
struct TokenLogprob {
  double logprob = 0.0;
  std::vector<TokenCandidate> top;

  bool operator==(const TokenLogprob&) const = default;
};

/// Where a witness comes from, weakest first.
enum class WitnessSource {
  kNone,
  kClientOverlap,  ///< The client's own clock: requests were in flight together.
  kServer,         ///< The server's counters or per-response fields.
  kEngine,         ///< The engine's own record of each step: exact.
};

/// Evidence of the conditions under which one item was answered. Absent: not known.
struct Witness {
  WitnessSource source = WitnessSource::kNone;
  std::optional<int>
      formed_size;          ///< Most requests in one engine step with this one, itself included.
  std::optional<int> slot;  ///< Index of its row in the first engine step that it was part of.
  std::optional<int> cached_tokens;  ///< Prompt tokens taken from the prefix cache.
  /// Most neighbour prefill tokens in an engine step in which this item decoded (0: none did).
  std::optional<int> same_step_prefill_tokens;
  /// Most neighbour prefill tokens run between two consecutive decode steps of this item.
  std::optional<int> interleaved_prefill_tokens;
  std::optional<int> preemptions;  ///< Times this item was preempted.
  /// Prompt positions at which its prefill was cut into chunks (ends but the last), in order.
  std::vector<int> chunk_ends;
};

/// Seconds since the step began, on the harness's steady clock.
struct CompletionTimes {
  double sent = 0.0;
  double first_token = 0.0;
  double last_token = 0.0;
};

/// One answer.
struct Completion {
  std::vector<TokenId> token_ids;
  std::vector<TokenLogprob> logprobs;  ///< One per token where asked for and had; else empty.
  std::optional<std::string> text;     ///< Where the target gives text.
  /// Tokens as the target counted them, or as they came: there exactly where it gives no IDs.
  std::optional<int> completion_tokens;
  /// Bytes of each token that a logprob is of, where the target gives no IDs: one per logprob.
  std::vector<std::string> token_bytes;
  FinishReason finish_reason = FinishReason::kLength;
  std::string error;                 ///< Not empty exactly where finish_reason is kError.
  std::optional<int> prompt_tokens;  ///< As the target counted them.
  Witness witness;
  CompletionTimes times;
};

/// Tokens of an answer so far.
inline int NumTokens(const Completion& answer) {
  return answer.completion_tokens.value_or(static_cast<int>(answer.token_ids.size()));
}

/// A run of consecutive engine steps of equal composition. `rows` is in the engine's batch order.
struct EngineStepSpan {
  struct Row {
    int item = 0;        ///< Index in the batch that was submitted.
    int num_tokens = 0;  ///< Tokens of it computed in each of these steps.
    bool decode = false;
    bool operator==(const Row&) const = default;
  };
  int64_t first_step = 0;  ///< 0: the batch's first engine step.
  int64_t num_steps = 0;
  std::vector<Row> rows;
};

/// What one batch gave.
struct BatchResult {
  std::vector<Completion> completions;  ///< In item order.
  std::vector<EngineStepSpan> steps;    ///< Empty where the target does not tell.
  /// Why the batch shows nothing, whatever was answered: others used the server meanwhile. Empty:
  /// nothing is known against it.
  std::string voided{};
};

/// What a target can do. A mode that needs a bit which is missing is `unsupported`.
struct Capabilities {
  bool ids_in = false;
  bool text_in = false;  ///< In place of IDs: text made of them, which the target reads as them.
  bool ids_out = false;
  bool logprobs = false;
  bool top_ids = false;          ///< Candidates come with their IDs.
  bool prompt_logprobs = false;  ///< Backend::Score works.
  bool seed = false;
  bool ignore_eos = false;
  bool stream = false;
  bool abort = false;
  bool engine_step_release = false;
  bool cached_tokens = false;
  bool cache_bypass = false;
  bool flush = false;
  bool restart = false;
  bool batch_witness = false;
  bool text = false;
  bool prefix_cache = false;  ///< Seen to be on.
};

/// Sizes that decide where an engine changes path. Absent: not known.
struct TargetFacts {
  std::optional<int> page_size;   ///< Tokens of a KV page.
  std::optional<int> chunk_size;  ///< Most prefill tokens of one engine step.
  std::optional<int> max_running_requests;
  std::optional<int> kv_pool_tokens;
  std::optional<int> context_len;
  std::optional<int> vocab_size;
  Capabilities capabilities;
};

}  // namespace detcheck
