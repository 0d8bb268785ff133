#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// How a manifest field is known.
enum class FieldSource { kObserved, kClaimed, kDeclared, kUnknown };

struct ManifestField {
  std::string name;   ///< Dotted, e.g. "model.weights_sha256".
  std::string value;  ///< Plain text; empty where the source is kUnknown.
  FieldSource source = FieldSource::kUnknown;
};

using Manifest = std::vector<ManifestField>;

struct Description {
  std::string engine;  ///< One line for a person: "detcheck CPU engine, deterministic, synthetic:tiny".
  TargetFacts facts;
  Manifest subject;    ///< What is tested.
};

/// What the target did when it was asked to empty its prefix cache.
struct FlushResult {
  bool accepted = false;
  std::string detail;  ///< The target's words where it refused.
};

/// Called while a batch runs, from the thread that called Complete: item `item` has answered
/// `num_tokens` tokens so far. For progress only.
using TokenCallback = std::function<void(int item, int num_tokens)>;

/// The seam between the harness and what it tests. The runner sees nothing else of a target.
/// Not thread-safe; one call at a time. A target that cannot go on throws Error (kTarget, kDevice);
/// a request that fails alone is a Completion with kError.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual Description Describe() = 0;

  /// Runs one batch to its end: each item released and aborted as it says. Items that are released
  /// `kAfterTokens` of an item which ends earlier are released at that item's end.
  /// `stop` turning true makes it return early; unfinished items then end in kAbort.
  virtual BatchResult Complete(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                               const TokenCallback& on_token) = 0;

  /// Logprobs of `ids[1..]`, each given the tokens before it, computed by prefill, cold.
  virtual std::vector<TokenLogprob> Score(const std::vector<TokenId>& ids, int top_logprobs) = 0;

  /// Empties the prefix cache. Waits, within a deadline, for the target to be idle.
  virtual FlushResult Flush() = 0;

  /// Starts the target afresh (embedded: a new engine). Throws Error(kUnsupported) where the
  /// capability is missing.
  virtual void Restart() = 0;
};

}  // namespace detcheck
