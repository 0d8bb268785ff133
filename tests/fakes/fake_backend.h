#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "tests/fakes/fake_cache.h"
#include "tests/fakes/fake_options.h"

namespace detcheck {

/// A target whose "model" is a hash of the tokens so far. It obeys, but for its fault.
class FakeBackend : public Backend {
 public:
  explicit FakeBackend(const FakeOptions& options);

  Description Describe() override;
  BatchResult Complete(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                       const TokenCallback& on_token) override;
  std::vector<TokenLogprob> Score(const std::vector<TokenId>& ids, int top_logprobs) override;
  FlushResult Flush() override;
  void Restart() override;

  int num_batches() const { return num_batches_; }
  int num_flushes() const { return num_flushes_; }

 private:
  /// What this batch's answers are salted with; 0: nothing.
  uint64_t Salt() const;
  void FailIfDue() const;
  /// What the options say of times, on an answer that took what the batch says.
  void Retime(const BatchItem& item, Completion* answer);
  /// The answer kept from an earlier time, at once; else keeps this one.
  void KeepOrReplay(const BatchItem& item, Completion* answer);

  const FakeOptions options_;
  FakeCache cache_;
  int num_batches_ = 0;
  int num_flushes_ = 0;
  int launched_at_batch_ = 0;
  int num_scores_ = 0;
  int num_restarts_ = 0;
  bool has_aborted_ = false;
  std::map<std::string, Completion> kept_;  // by request
  std::set<std::vector<TokenId>> seen_prompts_;
  std::set<size_t> seen_lens_;  // of prompts
};

}  // namespace detcheck
