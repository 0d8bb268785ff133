#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend.h"
#include "engine/remote/adapter.h"
#include "engine/remote/fingerprints.h"
#include "engine/remote/http_client.h"
#include "engine/remote/look_pace.h"
#include "engine/remote/options.h"
#include "engine/remote/preflight.h"
#include "engine/remote/prompt_text.h"
#include "engine/remote/remote_witness.h"
#include "engine/remote/server_calls.h"

namespace detcheck {

/// A server over HTTP, spoken to through its adapter.
///
/// A batch is one request for each item, released together or after a neighbour's tokens. Before it
/// and after it nothing may run on the server, as far as that tells; where something does, or its
/// counters show traffic that is not ours, the batch is voided. A batch to which the server answers
/// nothing at all is an Error(kTarget).
class RemoteBackend : public Backend {
 public:
  /// Finds out what the server is and can do, by a few requests (Preflight). Throws Error: kUsage
  /// for options that are wrong, kTarget where it cannot be reached or is no such server,
  /// kUnsupported where its answers cannot be compared.
  explicit RemoteBackend(const RemoteOptions& options);

  /// One line: API, release, tier and what was seen of its capabilities.
  std::string Summary() const;

  Description Describe() override;
  BatchResult Complete(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                       const TokenCallback& on_token) override;
  std::vector<TokenLogprob> Score(const std::vector<TokenId>& ids, int top_logprobs) override;
  /// Tries until the server accepts, at most 30 s.
  FlushResult Flush() override;
  void Restart() override;

 private:
  /// What became of one item.
  struct Outcome {
    HttpResult http;
    Answer answer;
    std::vector<TimedLoad> loads;  ///< That its events told.
    std::optional<double> first_token_s;
    std::optional<double> last_token_s;
  };

  /// What the server can do, by the pre-flight: with IDs where it takes them, else with text.
  void FindOut();
  /// Prompts are text from here on.
  void SendText();
  std::vector<Outcome> Exchange(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                                const TokenCallback& on_token, std::vector<TimedLoad>* loads);
  StreamProgress TakeEvent(const StreamEvent& event, const BatchItem& asked, Outcome* outcome);
  /// An event, or an answer whole.
  void TakeAnswer(std::string_view json, const Request& request, Answer* answer) const;
  /// Why the server would not run the item as it is; empty: it would.
  std::string WhyNotRun(const BatchItem& item);
  HttpRequest RequestFor(const BatchItem& item);
  std::string SaltFor(CacheWish cache);
  Completion ToCompletion(const BatchItem& item, const Outcome& outcome) const;
  Completion AskAlone(const Request& request);
  /// What the server tells of its counters now; absent where it tells nothing.
  std::optional<LoadSample> Look();
  /// Waits until nothing runs on the server, at most a few seconds; what it tells then.
  LoadSample WaitUntilIdle(const std::atomic<bool>& stop);
  /// The same after a batch, whose answers are not lost where the server is.
  LoadSample WaitUntilIdleAfter(const std::atomic<bool>& stop);
  void RequireAnswers(const std::vector<Outcome>& outcomes, const std::atomic<bool>& stop) const;
  const std::string& secret() const { return client_.endpoint().bearer_key; }

  const RemoteOptions options_;
  const std::atomic<bool> never_stop_ = false;
  HttpClient client_;
  ServerCalls calls_;
  LookPace look_pace_;
  std::unique_ptr<Adapter> adapter_;
  ServerClaims claims_;
  std::optional<PromptTexts> texts_;  ///< Where prompts are sent as text.
  const std::string run_id_;          ///< Of this process: no two runs share a salt.
  int num_salts_ = 0;
  int epoch_ = 0;  ///< Of the salt that requests share which may read the cache.
  Fingerprints fingerprints_;
};

}  // namespace detcheck
