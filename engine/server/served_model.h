#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.h"
#include "engine/embedded/engine.h"
#include "engine/embedded/options.h"
#include "engine/server/engine_loop.h"
#include "engine/server/http_types.h"
#include "engine/server/text_codec.h"

namespace detcheck {

/// What every end point needs. Read-only while the server runs.
struct ServedModel {
  std::string name;     ///< As clients call it.
  std::string version;  ///< Of detcheck.
  const Engine* engine = nullptr;
  EngineOptions options;  ///< As the device was given them.
  Description description;
  std::unique_ptr<TextCodec> codec;  ///< Null: the model has no tokenizer.
  EngineLoop* loop = nullptr;
  double started_s = 0.0;  ///< Start of the server, seconds since 1970.

  const ModelConfig& config() const { return engine->config(); }
  /// Value of a field of the manifest; nothing where there is none.
  std::optional<std::string> Field(const std::string& field) const;

  /// IDs of a text, with the special tokens around it unless told otherwise. Throws ApiError(400)
  /// that begins with `place`.
  std::vector<TokenId> Encode(const std::string& text, const std::string& place,
                              bool add_special = true) const;
  /// Text of token IDs; empty where there is no codec. `complete`: see PrintableText.
  std::string Decode(const std::vector<TokenId>& ids, bool skip_special,
                     bool complete = true) const;
  /// Text of one token, for lists of logprobs; nothing where there is no codec.
  std::optional<std::string> TokenText(TokenId id) const;

  /// Throws ApiError(400), beginning with `place`, for a request that the engine can never run.
  void RequirePossible(const Request& request, const std::string& place) const;
  /// The seed of a request that has none: 42 in deterministic mode, as SGLang has it; else another
  /// for each request.
  uint64_t DefaultSeed() const;
};

/// Runs requests to their end while the client is there to have them; throws ApiError: 500 for
/// what failed, 499 where the client went.
std::vector<PromptAnswer> RunToEnd(const ServedModel& model, std::vector<EngineRequest> requests,
                                   const HttpPeer& peer);

/// Follows a group's news, cancelling it when the client goes.
class GroupFollower {
 public:
  GroupFollower(EngineLoop* loop, std::shared_ptr<RequestGroup> group, const HttpPeer& peer)
      : loop_(loop), group_(std::move(group)), peer_(peer) {}
  /// Cancels what has not ended.
  ~GroupFollower();
  /// Waits for news; false: the client is gone.
  bool Wait();

 private:
  EngineLoop* loop_;
  std::shared_ptr<RequestGroup> group_;
  const HttpPeer& peer_;
  uint64_t seen_ = 0;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

}  // namespace detcheck
