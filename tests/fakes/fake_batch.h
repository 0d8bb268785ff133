#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/backend.h"
#include "tests/fakes/fake_cache.h"
#include "tests/fakes/fake_model.h"
#include "tests/fakes/fake_options.h"

namespace detcheck {

/// One batch on its way through a small continuous-batching scheduler with chunked prefill:
/// decoding requests first, then as many prompt tokens as the chunk holds.
class FakeBatch {
 public:
  /// `salt` other than 0 changes every answer. All must outlive the batch.
  FakeBatch(const FakeOptions& options, const std::vector<BatchItem>& items, uint64_t salt,
            FakeCache* cache);

  BatchResult Run(const std::atomic<bool>& stop, const TokenCallback& on_token);

 private:
  struct Sequence {
    enum class State { kWaiting, kRunning, kEnded };
    State state = State::kWaiting;
    std::vector<TokenId> tokens;  // prompt and answer
    uint64_t hash = 0;            // of the model, after `tokens`
    int num_computed = 0;
    int admitted_at = -1;  // engine step
    int now = 0;           // tokens of it in the current engine step
    uint64_t salt = 0;     // of its fault, once that has struck
  };

  bool IsReleased(int item) const;
  void Admit();
  /// Chooses the rows of the next engine step; their number.
  int Compose();
  void NoteStep(int num_rows);
  void NoteWitness(int item, int slot, int num_rows, int num_prefill);
  void Strike(int item, int slot, int num_rows);
  bool FaultStrikes(int item, int slot, int num_rows) const;
  bool OtherPromptStartedWith(int item) const;
  bool LaterPromptPrefills(int item) const;
  bool SharesPrefix(int item, size_t len) const;
  void Advance(const TokenCallback& on_token);
  void Answer(int item, const TokenCallback& on_token);
  void EndIfDone(int item);
  void Leave(int item, FinishReason reason);
  bool IsDecoding(int item) const;

  const FakeOptions& options_;
  const std::vector<BatchItem>& items_;
  FakeCache* cache_;
  FakeModel model_;
  std::vector<Sequence> sequences_;
  BatchResult result_;
  int step_ = 0;
  double now_s_ = 0.0;  ///< Of a clock that only engine steps move.
};

}  // namespace detcheck
