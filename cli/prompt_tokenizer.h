#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/fixture_make_options.h"
#include "engine/remote/options.h"
#include "fixtures/fixture.h"

namespace detcheck {

/// What makes token IDs of texts: a tokenizer.json, or a server.
class PromptTokenizer {
 public:
  virtual ~PromptTokenizer() = default;

  /// Writes into the set what the tokenizer is.
  virtual void DescribeIn(FixtureSet* set) const = 0;
  /// IDs, with the special tokens that are put around a text where `add_special`. Throws
  /// Error(kInput) for a text that has none.
  virtual std::vector<TokenId> Encode(const std::string& text, bool add_special) = 0;
  /// The text of IDs, special tokens kept; nothing where the tokenizer cannot tell.
  virtual std::optional<std::string> Decode(const std::vector<TokenId>& ids) = 0;
  /// IDs are below this, where the tokenizer tells it.
  virtual std::optional<int> vocab_size() const = 0;
};

/// As the options say: the one of `server` where it has an endpoint. Throws the errors of
/// Tokenizer::Read and of RemoteTokenizer, and Error(kUnsupported) where special tokens are to be
/// left out that the server always adds.
std::unique_ptr<PromptTokenizer> MakePromptTokenizer(const FixtureMakeOptions& make,
                                                     const RemoteOptions& server);

}  // namespace detcheck
