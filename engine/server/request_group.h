#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// One prompt of an HTTP request, as the engine loop takes it.
struct EngineRequest {
  Request request;
  bool score_prompt = false;  ///< Logprobs of the prompt's tokens are wanted.
  int prompt_top = 0;         ///< Candidates with each of them.
};

/// What has been answered to one prompt so far.
struct PromptAnswer {
  /// While it grows: token IDs and logprobs. Once it has ended: all of it.
  Completion completion;
  bool ended = false;
  std::vector<TokenLogprob> prompt_logprobs;  ///< Of prompt_ids[1..], where asked for.
  int num_running = 0;  ///< Requests in the engine step that gave the last token.
};

/// The prompts of one HTTP request and their answers: the engine loop writes, the thread that
/// serves the request waits and reads.
class RequestGroup {
 public:
  explicit RequestGroup(std::vector<EngineRequest> requests);

  int size() const { return static_cast<int>(requests_.size()); }
  const EngineRequest& request(int i) const { return requests_[i]; }

  // --- the engine loop ---------------------------------------------------------------------------
  void SetPromptLogprobs(int i, std::vector<TokenLogprob> logprobs);
  /// `num_running` requests were in the engine step that gives the next token.
  void SetRunning(int i, int num_running);
  /// The last token of `so_far` is new.
  void AddToken(int i, const Completion& so_far);
  void End(int i, Completion completion);
  /// Ends whatever has not ended with an error.
  void Fail(const std::string& why);

  // --- the thread that serves the request --------------------------------------------------------
  /// Waits until there is more than `*seen` (0 at first), which is brought up to date. False: time
  /// ran out first.
  bool WaitForNews(uint64_t* seen, std::chrono::milliseconds timeout);
  bool ended() const;
  /// The answer to prompt `i` so far.
  PromptAnswer Read(int i) const;

 private:
  const std::vector<EngineRequest> requests_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  uint64_t num_news_ = 0;
  int num_ended_ = 0;
  std::vector<PromptAnswer> answers_;
};

}  // namespace detcheck
