#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/remote/adapter.h"
#include "engine/remote/http_client.h"
#include "engine/remote/options.h"
#include "engine/remote/server_calls.h"

namespace detcheck {

/// IDs that the server makes of `text`, asked at `end_points`, which have a path to encode: without
/// the special tokens around it where they can be left out and not `add_special`. Throws
/// Error(kInput) for a text that it refuses, kUnsupported where the end point is not there, kTarget
/// where its answer is of no use.
std::vector<TokenId> EncodeByServer(const TokenizerEndPoints& end_points, ServerCalls* server,
                                    const std::string& text, bool add_special);

/// The tokenizer of a server, asked at its end points (TokenizerEndPoints). Nothing is generated.
class RemoteTokenizer {
 public:
  /// Finds out what the server is. Throws Error: kUsage for options that are wrong, kTarget where
  /// it cannot be reached or is no such server, kUnsupported where it has no end point that
  /// tokenizes.
  explicit RemoteTokenizer(const RemoteOptions& options);

  /// Whether IDs can be had without the special tokens that the tokenizer puts around a text.
  bool can_leave_out_special() const { return !end_points_.add_special.empty(); }

  /// IDs of `text`, special tokens in it taken as such; with those around it where `add_special`,
  /// or where they cannot be left out. Throws as EncodeByServer does.
  std::vector<TokenId> Encode(const std::string& text, bool add_special) {
    return EncodeByServer(end_points_, &calls_, text, add_special);
  }

  /// The text of `ids`, special tokens as their text; nothing where the server has no end point for
  /// it. Throws as Encode does.
  std::optional<std::string> Decode(const std::vector<TokenId>& ids);

  /// "sglang 0.5.6": the server's kind and release, as it calls itself.
  std::string Server() const;
  /// What it calls its model; may be empty.
  std::string Model() const;
  /// IDs are below this, where the server tells it.
  std::optional<int> vocab_size() const { return claims_.facts.vocab_size; }

 private:
  std::string Claim(std::string_view field) const;

  const std::atomic<bool> never_stop_ = false;
  HttpClient client_;
  ServerCalls calls_;
  std::unique_ptr<Adapter> adapter_;
  ServerClaims claims_;
  TokenizerEndPoints end_points_;
};

}  // namespace detcheck
