#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/device.h"
#include "engine/embedded/model.h"
#include "engine/embedded/model_dir.h"
#include "engine/embedded/ops.h"
#include "engine/embedded/options.h"

namespace detcheck {

/// A model with a KV cache of its own on a device.
struct LoadedOps {
  /// `max_rows`: most tokens, sequences and logit rows of a step; `num_slots`: of the KV cache.
  LoadedOps(const EngineDevice& device, const EngineOptions& options, int max_rows, int num_slots);

  ModelConfig config;
  std::unique_ptr<Ops> ops;
  std::unique_ptr<Model> model;
};

/// What the logits of a token sequence should be: digests from one plain prefill of the sequence,
/// alone, in one chunk, from an empty cache, on one thread, call by call.
class ScheduleReference {
 public:
  /// `options` name the model; the longest sequence is `max_len` tokens.
  ScheduleReference(const EngineDevice& device, const EngineOptions& options, int max_len);

  /// Digest of the logits at each position of `ids`. Positions that an earlier sequence with the
  /// same prefix had are not computed again.
  std::vector<std::string> Digests(const std::vector<TokenId>& ids);

  int64_t num_positions() const { return num_positions_; }  ///< Computed so far.

 private:
  /// Of the tree of all sequences so far; the path to a node spells the tokens up to its position.
  struct Node {
    std::string digest;
    std::map<TokenId, std::unique_ptr<Node>> next;
  };

  void Prefill(const std::vector<TokenId>& ids, const std::vector<Node*>& path);

  LoadedOps loaded_;
  Node root_;
  int64_t num_positions_ = 0;
};

}  // namespace detcheck
