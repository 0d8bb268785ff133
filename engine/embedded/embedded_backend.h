#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/embedded/engine.h"
#include "engine/embedded/options.h"
#include "engine/tokenizer/tokenizer.h"

namespace detcheck {

/// The embedded engine behind the seam. Answers have text where the model is synthetic, and where
/// its directory has a tokenizer.json: the bytes of the tokens, special ones left out, which end in
/// a part of a character where the last token does.
class EmbeddedBackend : public Backend {
 public:
  /// Starts an engine. Errors: Engine's, and Tokenizer::Read's.
  EmbeddedBackend(const EngineOptions& options, EngineDevice device);

  Description Describe() override;
  BatchResult Complete(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                       const TokenCallback& on_token) override;
  std::vector<TokenLogprob> Score(const std::vector<TokenId>& ids, int top_logprobs) override;
  FlushResult Flush() override;
  /// A new engine with the same options: the weights are loaded again. Where that fails, the
  /// backend is without an engine and every later call but Restart throws Error(kTarget).
  void Restart() override;

  /// The engine itself, for who runs it otherwise than by Complete.
  Engine& engine();
  /// As the device was given them.
  const EngineOptions& options() const { return options_; }

 private:
  std::optional<std::string> TextOf(const std::vector<TokenId>& ids) const;
  TargetFacts Facts();
  Manifest Subject();

  const EngineOptions options_;
  const EngineDevice device_;
  const std::optional<Tokenizer> tokenizer_;  ///< Of a directory that has one.
  std::unique_ptr<Engine> engine_;
};

}  // namespace detcheck
