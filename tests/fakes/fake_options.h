#pragma once

namespace detcheck {

/// What is wrong with a fake target.
enum class Fault {
  kNone,
  // The answer depends on what it must not depend on. The modes that must find it are named.
  kCopies,            ///< How many equal prompts share the batch: single.
  kBatchSize,         ///< How many requests run together: single, batch, mixed, prefix.
  kNeighbours,        ///< What prompts that start with it say: batch.
  kItemIndex,         ///< Its slot among other prompts that start with it: batch.
  kNeighbourPrefill,  ///< A later prompt's prefill in a step in which it decodes: mixed.
  kSharedPrefix,      ///< A prefix shared with another prompt of the batch: prefix.
  kCachedAlone,       ///< Prompt tokens out of the prefix cache, running alone: radix_cache.
  kCachedTokens,      ///< Prompt tokens out of the prefix cache: prefix, radix_cache.
  kScoreDrift,        ///< Prefill gives other logprobs than decoding: p_vs_d.
  kScoreRandom,       ///< No two scores of the same tokens are alike: p_vs_d.
  kSeedIgnored,       ///< All seeds draw alike: seeds.
  kNeighbourTopK,     ///< A neighbour's top_k, for a request at temperature 0.8: seeds.
  kAfterAborts,       ///< That a request was aborted since the launch: history.
  kAfterRestart,      ///< That it was restarted more than once: history.
  // The answer depends on what no mode is about.
  kFirstRun,      ///< The first answer of a launch is another one.
  kRandom,        ///< No two answers are alike.
  kLogprobDrift,  ///< As kBatchSize, but logprobs alone move.
  kAskedTracing,  ///< Asking for logprobs changes the tokens.
  // The conditions do not come about.
  kSerialised,       ///< One request at a time.
  kCacheNeverHits,   ///< Nothing is found in the prefix cache, though it is said to be on.
  kFlushRefused,     ///< Every flush is refused.
  kFlushLies,        ///< Every flush is accepted, and nothing is emptied.
  kCachedCountLies,  ///< 0 cached tokens are told, always.
  kNoBatchWitness,   ///< Nothing is told of who ran with whom.
  kResponseCache,    ///< Whole answers are kept, and given again at once.
  // What takes long is not what it seems.
  kSlowFirstToken,  ///< The first token of an unseen prompt takes a second, the others nothing
                    ///< more.
  kCompiles,  ///< Every token of the first batch of each prompt length takes 20 times as long.
  // The target fails.
  kErrorCompletions,  ///< Every seventh batch, its last item.
  kThrows,            ///< Every seventh batch, as a whole: Error(kTarget).
  kDies,              ///< From batch `dies_at` on, everything: Error(kTarget).
  kDeviceFails,       ///< Batch `dies_at`: Error(kDevice).
  kIdentityChanges,   ///< It says another version after its first batch.
};

struct FakeOptions {
  Fault fault = Fault::kNone;
  int page_size = 16;
  int chunk_size = 256;
  int max_running_requests = 128;
  int context_len = 8192;
  int vocab_size = 32000;
  int dies_at = 20;  ///< 0-based count of batches.
  bool cache_bypass = true;
  bool flush = true;
};

}  // namespace detcheck
