#include "engine/embedded/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/base/rng.h"
#include "tests/embedded/reference_model.h"

namespace detcheck {
namespace {

ModelConfig SmallConfig(Architecture architecture) {
  ModelConfig config;
  config.name = "small";
  config.architecture = architecture;
  config.num_layers = 2;
  config.hidden_size = 24;
  config.num_heads = 6;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.intermediate_size = 40;
  config.vocab_size = 97;
  config.context_len = 64;
  config.rms_norm_eps = 1e-5f;
  config.dtype = DType::kF32;
  config.qk_norm = architecture == Architecture::kQwen3;
  config.tie_word_embeddings = config.qk_norm;
  return config;
}

std::vector<TokenId> RandomIds(int len, int vocab_size, uint64_t seed) {
  Rng rng(seed);
  std::vector<TokenId> ids;
  for (int i = 0; i < len; ++i) ids.push_back(rng.Between(0, vocab_size - 1));
  return ids;
}

/// One sequence as it is fed to the model: its KV slots are scattered over the cache.
struct Fed {
  std::vector<TokenId> ids;
  std::vector<int32_t> slots;
  int num_done = 0;
  std::vector<std::vector<double>> logprobs;  ///< [position][token]
};

/// Runs the next `lens[i]` tokens of sequence i (0: leaves it out) in one step.
void RunStep(Model* model, Ops* ops, std::vector<Fed>* sequences, const std::vector<int>& lens) {
  StepBatch batch;
  std::vector<Fed*> row_owners;
  for (size_t i = 0; i < lens.size(); ++i) {
    if (lens[i] == 0) continue;
    Fed& fed = (*sequences)[i];
    batch.sequences.push_back({batch.num_rows(), lens[i], fed.num_done, fed.slots.data()});
    for (int j = 0; j < lens[i]; ++j, ++fed.num_done) {
      batch.ids.push_back(fed.ids[fed.num_done]);
      batch.positions.push_back(fed.num_done);
      batch.slots.push_back(fed.slots[fed.num_done]);
      row_owners.push_back(&fed);
    }
  }
  batch.logit_rows.resize(batch.ids.size());
  std::iota(batch.logit_rows.begin(), batch.logit_rows.end(), 0);
  model->Forward(batch);
  const int vocab_size = model->config().vocab_size;
  const std::vector<TokenLogprob> rows =
      ops->Score(std::vector<TokenId>(row_owners.size(), 0), vocab_size);
  for (size_t r = 0; r < rows.size(); ++r) {
    std::vector<double> logprobs(vocab_size);
    for (const TokenCandidate& candidate : rows[r].top) logprobs[candidate.id] = candidate.logprob;
    row_owners[r]->logprobs.push_back(logprobs);
  }
}

/// Two sequences, chunked and mixed over three steps, as the engine would run them.
std::vector<Fed> RunModel(const ModelConfig& config, MapWeights* weights, bool deterministic) {
  EngineOptions options;
  options.deterministic = deterministic;
  options.num_threads = 1;
  const std::unique_ptr<Ops> ops = MakeCpuOps(config, options, 64);
  Model model(config, weights, ops.get(), 64);
  ops->AllocateKvCache(64);
  std::vector<Fed> sequences(2);
  for (int i = 0; i < 2; ++i) {
    sequences[i].ids = RandomIds(20, config.vocab_size, 100 + i);
    for (int t = 0; t < 20; ++t) sequences[i].slots.push_back((t * 6 + i * 3) % 64);
  }
  RunStep(&model, ops.get(), &sequences, {7, 0});
  RunStep(&model, ops.get(), &sequences, {1, 19});
  RunStep(&model, ops.get(), &sequences, {12, 1});
  return sequences;
}

double LargestDifference(const ModelConfig& config, const MapWeights& weights,
                         const std::vector<Fed>& sequences) {
  double largest = 0.0;
  for (const Fed& fed : sequences) {
    const auto expected = ReferenceLogprobs(config, weights, fed.ids);
    EXPECT_EQ(fed.logprobs.size(), expected.size());
    for (size_t t = 0; t < expected.size(); ++t) {
      for (int v = 0; v < config.vocab_size; ++v) {
        largest = std::max(largest, std::abs(fed.logprobs[t][v] - expected[t][v]));
      }
    }
  }
  return largest;
}

class ModelTest : public testing::TestWithParam<bool> {
 protected:
  void ExpectNear(const ModelConfig& config, double tolerance) {
    MapWeights weights(config, 7);
    const std::vector<Fed> sequences = RunModel(config, &weights, GetParam());
    EXPECT_LT(LargestDifference(config, weights, sequences), tolerance);
  }
};

constexpr double kF32Tolerance = 1e-4;  // nats, of logprobs down to about -20

TEST_P(ModelTest, Llama) {
  ExpectNear(SmallConfig(Architecture::kLlama), kF32Tolerance);
}

TEST_P(ModelTest, Qwen3) {
  ExpectNear(SmallConfig(Architecture::kQwen3), kF32Tolerance);
}

TEST_P(ModelTest, Llama3RopeScaling) {
  ModelConfig config = SmallConfig(Architecture::kLlama);
  config.rope_theta = 500.0;
  // Wavelengths 6.3, 13.7, 29.7, 64.6, ...: kept, smoothed, smoothed, divided.
  config.rope_scaling = Llama3RopeScaling{8.0, 1.0, 4.0, 32};
  ExpectNear(config, kF32Tolerance);
}

TEST_P(ModelTest, OneHeadPerKvHead) {
  ModelConfig config = SmallConfig(Architecture::kLlama);
  config.num_kv_heads = config.num_heads;
  config.head_dim = config.hidden_size / config.num_heads;
  ExpectNear(config, kF32Tolerance);
}

TEST_P(ModelTest, RoundsToTheModelDType) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    ModelConfig config = SmallConfig(Architecture::kQwen3);
    config.dtype = dtype;
    ExpectNear(config, dtype == DType::kBf16 ? 0.5 : 0.06);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, ModelTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "Deterministic" : "Default");
});

/// Counts calls; computes nothing.
class CountingOps : public Ops {
 public:
  Manifest Describe() const override { return {}; }
  std::unique_ptr<Weight> NewMatrix(const HostTensor&) override { return Count("matrix"); }
  std::unique_ptr<Weight> NewVector(const HostTensor&) override { return Count("vector"); }
  std::unique_ptr<Activations> NewActivations(int, int) override {
    return std::make_unique<Activations>();
  }
  void AllocateKvCache(int) override {}
  void BeginStep(const StepBatch&) override { ++calls["begin"]; }
  void Embed(const Weight& table, Activations*) override { embed_table = &table; }
  void AddRmsNorm(Activations*, const Activations*, const Weight&, Activations*) override {
    ++calls["norm"];
  }
  void Linear(const Activations&, const Weight&, Activations*) override { ++calls["linear"]; }
  void RopeAndWriteKv(int, const Weight*, const Weight*, Activations*) override { ++calls["rope"]; }
  void Attention(int, const Activations&, Activations*) override { ++calls["attention"]; }
  void GateUp(const Activations&, const Weight&, Activations*) override { ++calls["gate_up"]; }
  void SelectLogitRows(const Activations&, const Activations&, Activations*) override {
    ++calls["select"];
  }
  void Logits(const Activations&, const Weight& lm_head) override {
    ++calls["logits"];
    head = &lm_head;
  }
  std::vector<SampledToken> Sample(std::span<const RowSampling>) override { return {}; }
  std::vector<TokenLogprob> Score(std::span<const TokenId>, int) override { return {}; }
  std::vector<std::string> LogitDigests() override { return {}; }

  std::map<std::string, int> calls;
  const Weight* embed_table = nullptr;
  const Weight* head = nullptr;

 private:
  std::unique_ptr<Weight> Count(const char* name) {
    ++calls[name];
    return std::make_unique<Weight>();
  }
};

TEST(Model, TiedHeadIsUploadedOnce) {
  for (const Architecture architecture : {Architecture::kLlama, Architecture::kQwen3}) {
    const ModelConfig config = SmallConfig(architecture);
    MapWeights weights(config, 7);
    CountingOps ops;
    Model model(config, &weights, &ops, 8);
    EXPECT_EQ(ops.calls["matrix"], 4 * config.num_layers + (config.tie_word_embeddings ? 1 : 2));
    StepBatch batch{.ids = {1}, .positions = {0}, .slots = {0}, .sequences = {}, .logit_rows = {0}};
    model.Forward(batch);
    EXPECT_EQ(ops.head == ops.embed_table, config.tie_word_embeddings);
  }
}

TEST(Model, SkipsTheHeadWhereNoLogitsAreWanted) {
  const ModelConfig config = SmallConfig(Architecture::kLlama);
  MapWeights weights(config, 7);
  CountingOps ops;
  Model model(config, &weights, &ops, 8);
  StepBatch batch{.ids = {1}, .positions = {0}, .slots = {0}, .sequences = {}, .logit_rows = {}};
  model.Forward(batch);
  EXPECT_EQ(ops.calls["norm"], 2 * config.num_layers);
  EXPECT_EQ(ops.calls["select"], 0);
  EXPECT_EQ(ops.calls["logits"], 0);
  batch.logit_rows = {0};
  model.Forward(batch);
  EXPECT_EQ(ops.calls["norm"], 4 * config.num_layers + 1);
  EXPECT_EQ(ops.calls["logits"], 1);
}

}  // namespace
}  // namespace detcheck
