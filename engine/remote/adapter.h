#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend.h"
#include "engine/base/request.h"
#include "engine/remote/http.h"
#include "engine/remote/json_node.h"
#include "engine/remote/options.h"
#include "engine/remote/server_calls.h"
#include "engine/remote/tokenizer_end_points.h"

namespace detcheck {

/// What has been read of one answer so far.
struct Answer {
  std::vector<TokenId> token_ids;
  std::vector<TokenLogprob> logprobs;  ///< One per token where they were asked for.
  std::optional<std::string> text;
  /// Where the server gives no IDs: tokens so far, and the bytes of those that have a logprob.
  std::optional<int> num_tokens;
  std::vector<std::string> token_bytes;
  std::optional<FinishReason> finish;  ///< Absent: the answer has not ended.
  std::string error;                   ///< Not empty: the answer is of no use.
  std::optional<int> prompt_tokens;    ///< As the server counted them.
  std::optional<int> cached_tokens;
  std::optional<int> preemptions;
  /// Tokens of the whole answer, as the server counted them at its end.
  std::optional<int> counted_tokens;
  /// That not all of them came is the server's way, no fault: it leaves some out of its streams.
  bool leaves_out_tokens = false;
  std::optional<int> running;  ///< Requests in the running batch, as the last event said.
  std::string fingerprint;     ///< What the server calls its weights or configuration.
};

/// One look at a server's counters. Absent: the server does not tell.
struct LoadSample {
  std::optional<int> running;  ///< Most requests in the running batch of one scheduler.
  /// `running` counts requests, too, that may still wait for their first engine step.
  bool counts_starting = false;
  std::optional<int> total;         ///< Requests running or waiting, on all schedulers.
  std::optional<double> generated;  ///< Tokens generated since the server's start.
  std::optional<double> preempted;  ///< Preemptions since then.
  std::optional<double> batches;    ///< Groups of requests that were prefilled together since then.
  std::optional<double> batched;    ///< Requests in those.
  /// Engine steps since then that gave a token to some request, at most one to each; counted with
  /// `generated`.
  std::optional<double> token_steps;
  std::optional<double> cache_queries;  ///< Prompt tokens looked up in the prefix cache since then.
  std::optional<double> cache_hits;     ///< Of those, found there.
};

/// What a server says of itself.
struct ServerClaims {
  Manifest subject;
  /// Its bits are what the server's kind can do; the pre-flight takes away what is not seen.
  /// text_in: it reads prompts as text too, or, without ids_in, in no other way.
  TargetFacts facts;
  /// What it says that it puts in front of every text; nothing where it does not say.
  std::vector<TokenId> added_ids;
};

/// What becomes of one attempt to flush.
struct FlushAttempt {
  FlushResult result;
  bool may_retry = false;  ///< Refused for a reason that passes.
};

/// How one kind of server is spoken to: what it is asked, and how its answers are read. Reading
/// never throws: what is wrong with an answer is Answer::error.
class Adapter {
 public:
  virtual ~Adapter() = default;

  /// One of AdapterNames().
  virtual std::string_view name() const = 0;

  /// Asks the server what it is: before anything else, and again after the run. Throws
  /// Error(kTarget) where it is not such a server.
  virtual ServerClaims Learn(ServerCalls* server) = 0;

  /// Why the server would not run the request as it is; empty: it would.
  virtual std::string Refuses(const Request& /*request*/) const { return ""; }

  /// The request with every sampling parameter, streamed where the server streams: its prompt_text
  /// in place of its IDs where there is one. `salt` names a
  /// part of the prefix cache of its own, for servers that know such; never empty.
  virtual HttpRequest Ask(const Request& request, const std::string& salt) const = 0;

  /// One event of the answer, or the answer whole where it is not a stream.
  virtual void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const = 0;

  /// Asks for the logprobs of ids[1..]. Throws Error(kUnsupported), as ReadScores does, where the
  /// server cannot give them: it has no capability prompt_logprobs.
  virtual HttpRequest AskScores(const std::vector<TokenId>& ids, int top_logprobs,
                                const std::string& salt) const;
  /// Throws Error(kTarget) where they are not all there.
  virtual std::vector<TokenLogprob> ReadScores(const JsonNode& answer,
                                               const std::vector<TokenId>& ids) const;

  /// One attempt to empty the prefix cache. Not called where a new salt does it (`salts`). Throws
  /// Error(kUnsupported) where the server cannot: it has no capability flush.
  virtual FlushAttempt TryFlush(ServerCalls* server);
  /// Whether requests of one salt never read what those of another left in the prefix cache.
  virtual bool salts() const { return false; }

  /// Where a GET looks at the server's counters, which must change nothing; empty where it has
  /// none. Valid after Learn.
  virtual std::string load_path() const { return ""; }
  virtual LoadSample ReadLoad(const std::string& /*body*/) const { return {}; }

  /// Its tokenizer's end points. Valid after Learn.
  virtual TokenizerEndPoints tokenizer() const { return {}; }
};

/// "sglang", "vllm", …: what --api takes beside "auto".
std::span<const std::string_view> AdapterNames();

/// The adapter of that name; Error(kUsage) where there is none. "auto" looks at the server first
/// and throws Error(kTarget) where it is none that is known.
std::unique_ptr<Adapter> MakeAdapter(const RemoteOptions& options, ServerCalls* server);

}  // namespace detcheck
