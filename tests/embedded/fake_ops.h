#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/embedded/ops.h"

namespace detcheck {

/// An Ops without a model. Its KV cache keeps token IDs, and the logits of a row are a hash of the
/// IDs that the row's slots hold, so that a page that was mixed up changes the answer. Records the
/// steps it was asked for.
class FakeOps : public Ops {
 public:
  static constexpr int kVocab = 1000;

  explicit FakeOps(int num_slots) : kv_(num_slots, -1) {}

  /// What a step was asked to compute; `draws` are the positions of the tokens drawn.
  struct Step {
    StepBatch batch;
    std::vector<int64_t> draws;
  };
  std::vector<Step> steps;
  int fail_at_step = -1;  ///< BeginStep throws Error(kDevice) there.

  void BeginStep(const StepBatch& batch) override {
    if (static_cast<int>(steps.size()) == fail_at_step) {
      throw Error(ErrorCode::kDevice, "fake device failed");
    }
    steps.push_back({batch, {}});
    for (int row = 0; row < batch.num_rows(); ++row) kv_[batch.slots[row]] = batch.ids[row];
    hashes_.clear();
    for (const int row : batch.logit_rows) hashes_.push_back(HashOfRow(batch, row));
  }

  std::vector<SampledToken> Sample(std::span<const RowSampling> rows) override {
    if (rows.size() != hashes_.size()) throw Error(ErrorCode::kInternal, "one entry a row");
    std::vector<SampledToken> tokens;
    for (size_t i = 0; i < rows.size(); ++i) {
      steps.back().draws.push_back(rows[i].position);
      SampledToken token{.id = static_cast<TokenId>(hashes_[i] % kVocab), .logprob = {}};
      token.logprob.logprob = -static_cast<double>(hashes_[i] % 97);
      token.logprob.top.resize(std::max(rows[i].num_top, 0));
      tokens.push_back(token);
    }
    return tokens;
  }

  std::vector<TokenLogprob> Score(std::span<const TokenId> targets, int num_top) override {
    std::vector<TokenLogprob> scores;
    for (size_t i = 0; i < targets.size(); ++i) {
      scores.push_back({.logprob = -static_cast<double>(hashes_[i] % 97), .top = {}});
      scores.back().top.resize(num_top);
    }
    return scores;
  }

  std::vector<std::string> LogitDigests() override {
    std::vector<std::string> digests;
    for (const uint64_t hash : hashes_) digests.push_back(std::to_string(hash));
    return digests;
  }

  static uint64_t Hash(std::span<const TokenId> ids) {
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const TokenId id : ids) hash = (hash ^ static_cast<uint64_t>(id + 1)) * 1099511628211u;
    return hash ^ hash >> 32;
  }

  Manifest Describe() const override { return {}; }
  std::unique_ptr<Weight> NewMatrix(const HostTensor&) override { return nullptr; }
  std::unique_ptr<Weight> NewVector(const HostTensor&) override { return nullptr; }
  std::unique_ptr<Activations> NewActivations(int, int) override { return nullptr; }
  void AllocateKvCache(int) override {}
  void Embed(const Weight&, Activations*) override {}
  void AddRmsNorm(Activations*, const Activations*, const Weight&, Activations*) override {}
  void Linear(const Activations&, const Weight&, Activations*) override {}
  void RopeAndWriteKv(int, const Weight*, const Weight*, Activations*) override {}
  void Attention(int, const Activations&, Activations*) override {}
  void GateUp(const Activations&, const Weight&, Activations*) override {}
  void SelectLogitRows(const Activations&, const Activations&, Activations*) override {}
  void Logits(const Activations&, const Weight&) override {}

 private:
  uint64_t HashOfRow(const StepBatch& batch, int row) const {
    for (const SequenceSlice& seq : batch.sequences) {
      if (row >= seq.first_row + seq.num_tokens) continue;
      const int pos = seq.start_pos + row - seq.first_row;
      std::vector<TokenId> ids;
      for (int i = 0; i <= pos; ++i) ids.push_back(kv_.at(seq.slots[i]));
      return Hash(ids);
    }
    throw Error(ErrorCode::kInternal, "a logit row outside the sequences");
  }

  std::vector<TokenId> kv_;
  std::vector<uint64_t> hashes_;
};

}  // namespace detcheck
