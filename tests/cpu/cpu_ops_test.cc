#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/model.h"
#include "engine/embedded/synthetic.h"

namespace detcheck {
namespace {

constexpr int kMaxRows = 400;
constexpr int kNumSlots = 4096;

SyntheticModel SmallModel(const std::string& name, DType dtype) {
  SyntheticModel model = FindSyntheticModel(name);
  model.config.dtype = dtype;
  model.config.num_layers = 2;
  model.config.vocab_size = 500;
  return model;
}

EngineOptions Deterministic(int num_threads = 2, const std::string& simd_level = "") {
  EngineOptions options;
  options.deterministic = true;
  options.num_threads = num_threads;
  options.simd_level = simd_level;
  return options;
}

EngineOptions Default(int num_threads = 2) {
  EngineOptions options;
  options.num_threads = num_threads;
  return options;
}

std::vector<TokenId> RandomIds(int count, uint64_t seed) {
  Rng rng(seed);
  std::vector<TokenId> ids;
  ids.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) ids.push_back(rng.Between(0, 499));
  return ids;
}

// A sequence and what has been computed of it.
struct Sequence {
  std::vector<TokenId> ids;
  std::vector<int32_t> slots;
  int done = 0;
};

Sequence MakeSequence(std::vector<TokenId> ids, int first_slot, int slot_step = 1) {
  Sequence sequence;
  sequence.slots.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    sequence.slots.push_back(first_slot + static_cast<int>(i) * slot_step);
  }
  sequence.ids = std::move(ids);
  return sequence;
}

// A model on its Ops.
class Rig {
 public:
  Rig(const SyntheticModel& model, const EngineOptions& options)
      : ops_(MakeCpuOps(model.config, options, kMaxRows)), weights_(model, 1, 1) {
    ops_->AllocateKvCache(kNumSlots);
    model_ = std::make_unique<Model>(model.config, &weights_, ops_.get(), kMaxRows);
  }

  Ops* ops() { return ops_.get(); }

  // Computes the next `counts[i]` tokens of each sequence; logits of the last sequence's rows.
  void Step(const std::vector<Sequence*>& sequences, const std::vector<int>& counts) {
    batch_ = {};
    for (size_t s = 0; s < sequences.size(); ++s) {
      Sequence& sequence = *sequences[s];
      batch_.sequences.push_back(
          {batch_.num_rows(), counts[s], sequence.done, sequence.slots.data()});
      for (int i = 0; i < counts[s]; ++i) {
        if (s + 1 == sequences.size()) batch_.logit_rows.push_back(batch_.num_rows());
        const auto at = static_cast<size_t>(sequence.done);
        batch_.ids.push_back(sequence.ids[at]);
        batch_.slots.push_back(sequence.slots[at]);
        batch_.positions.push_back(sequence.done++);
      }
    }
    model_->Forward(batch_);
  }

  // Logit digests of every position, computed in chunks of `chunk`.
  std::vector<std::string> Digests(Sequence sequence, int chunk) {
    std::vector<std::string> digests;
    while (sequence.done < static_cast<int>(sequence.ids.size())) {
      const int left = static_cast<int>(sequence.ids.size()) - sequence.done;
      Step({&sequence}, {std::min(chunk, left)});
      for (std::string& digest : ops_->LogitDigests()) digests.push_back(std::move(digest));
    }
    return digests;
  }

 private:
  std::unique_ptr<Ops> ops_;
  SyntheticWeights weights_;
  std::unique_ptr<Model> model_;
  StepBatch batch_;
};

TEST(CpuOpsTest, DeterministicLogitsOfAnyChunking) {
  const std::vector<TokenId> ids = RandomIds(300, 1);
  for (const auto& [name, dtype] :
       {std::pair{"tiny", DType::kBf16}, {"tiny-qwen3", DType::kF32}, {"tiny", DType::kF16}}) {
    Rig rig(SmallModel(name, dtype), Deterministic());
    const std::vector<std::string> whole = rig.Digests(MakeSequence(ids, 0), 300);
    EXPECT_EQ(std::set<std::string>(whole.begin(), whole.end()).size(), whole.size());
    for (const int chunk : {1, 7, 64, 299}) {
      EXPECT_EQ(rig.Digests(MakeSequence(ids, 16 * 30, 3), chunk), whole) << name << chunk;
    }
  }
}

TEST(CpuOpsTest, DeterministicLogitsOfAnyLevelAndThreads) {
  const std::vector<TokenId> ids = RandomIds(70, 2);
  const SyntheticModel model = SmallModel("tiny-qwen3", DType::kBf16);
  const std::vector<std::string> expected =
      Rig(model, Deterministic()).Digests(MakeSequence(ids, 0), 70);
  for (const cpu::SimdLevel level : cpu::AvailableLevels()) {
    for (const int num_threads : {1, 3, 8}) {
      Rig rig(model, Deterministic(num_threads, cpu::SimdLevelName(level)));
      EXPECT_EQ(rig.Digests(MakeSequence(ids, 0), 70), expected) << cpu::SimdLevelName(level);
    }
  }
}

TEST(CpuOpsTest, DeterministicLogitsAmongNeighbours) {
  const std::vector<TokenId> ids = RandomIds(40, 3);
  Rig rig(SmallModel("tiny", DType::kBf16), Deterministic());
  const std::vector<std::string> alone = rig.Digests(MakeSequence(ids, 0), 40);
  for (const int num_neighbours : {1, 2, 7, 16}) {
    Sequence subject = MakeSequence(ids, 0);
    std::vector<Sequence> neighbours;
    neighbours.reserve(static_cast<size_t>(num_neighbours));
    for (int n = 0; n < num_neighbours; ++n) {
      neighbours.push_back(
          MakeSequence(RandomIds(200, 100 + static_cast<uint64_t>(n)), 100 + 200 * n));
    }
    std::vector<Sequence*> sequences;
    sequences.reserve(neighbours.size() + 1);
    for (Sequence& neighbour : neighbours) sequences.push_back(&neighbour);
    sequences.push_back(&subject);
    for (size_t position = 0; position < ids.size(); ++position) {
      std::vector<int> counts(sequences.size(), 1 + static_cast<int>(position % 3));
      counts.back() = 1;
      rig.Step(sequences, counts);
      EXPECT_EQ(rig.ops()->LogitDigests()[0], alone[position]);
    }
  }
}

TEST(CpuOpsTest, SamplesAndScoresAgree) {
  Rig rig(SmallModel("tiny", DType::kBf16), Deterministic());
  Sequence sequence = MakeSequence(RandomIds(20, 4), 0);
  rig.Step({&sequence}, {20});
  std::vector<RowSampling> how(20);
  for (size_t i = 0; i < how.size(); ++i) {
    how[i].position = static_cast<int64_t>(i);
    how[i].num_top = 3;
    how[i].sampling.temperature = i % 2 == 0 ? 0.0 : 1.0;
  }
  const std::vector<SampledToken> tokens = rig.ops()->Sample(how);
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const SampledToken& token : tokens) ids.push_back(token.id);
  const std::vector<TokenLogprob> scores = rig.ops()->Score(ids, 3);
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens[i].logprob, scores[i]);
    if (i % 2 == 0) {
      EXPECT_EQ(tokens[i].id, scores[i].top[0].id);
    }
  }
}

TEST(CpuOpsTest, RefusesWhatItDoesNotHave) {
  const ModelConfig config = SmallModel("tiny", DType::kBf16).config;
  EngineOptions options = Deterministic();
  options.attention_backend = "flashinfer";
  EXPECT_THROW(MakeCpuOps(config, options, 1), Error);
  EXPECT_THROW(MakeCpuOps(config, Deterministic(1, "avx1024"), 1), Error);
}

TEST(CpuOpsTest, DescribesItself) {
  const ModelConfig config = SmallModel("tiny", DType::kBf16).config;
  std::set<std::string> names;
  for (const ManifestField& field : MakeCpuOps(config, Deterministic(), 1)->Describe()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    if (field.name == "kernels.mode") {
      EXPECT_EQ(field.value, "deterministic");
    }
    if (field.name == "device.threads") {
      EXPECT_EQ(field.value, "2");
    }
  }
  for (const char* name : {"device.cpu_model", "device.simd_level", "device.threads",
                           "kernels.mode", "kernels.gemm", "kernels.attention"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

#if defined(DETCHECK_OPENBLAS)

// log-softmax of a token at every position, computed in one chunk.
std::vector<double> Logprobs(Rig* rig, Sequence sequence, int chunk) {
  std::vector<double> logprobs;
  while (sequence.done < static_cast<int>(sequence.ids.size())) {
    const int left = static_cast<int>(sequence.ids.size()) - sequence.done;
    rig->Step({&sequence}, {std::min(chunk, left)});
    const std::vector<TokenId> targets(static_cast<size_t>(std::min(chunk, left)), 7);
    for (const TokenLogprob& score : rig->ops()->Score(targets, 0)) {
      logprobs.push_back(score.logprob);
    }
  }
  return logprobs;
}

TEST(CpuOpsTest, DefaultModeAgreesWithDeterministicWithinRounding) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::kF32, 1e-4}, {DType::kBf16, 0.5}}) {
    for (const char* name : {"tiny", "tiny-qwen3"}) {
      const SyntheticModel model = SmallModel(name, dtype);
      Rig deterministic(model, Deterministic());
      Rig defaults(model, Default());
      const Sequence sequence = MakeSequence(RandomIds(300, 5), 3);
      const std::vector<double> expected = Logprobs(&deterministic, sequence, 300);
      for (const int chunk : {300, 1, 50}) {
        const std::vector<double> actual = Logprobs(&defaults, sequence, chunk);
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], expected[i], tolerance) << name << " chunk " << chunk;
        }
      }
    }
  }
}

TEST(CpuOpsTest, DefaultModeVariesWithTheBatch) {
  const std::vector<TokenId> ids = RandomIds(300, 6);
  Rig rig(SmallModel("tiny", DType::kF32), Default());
  std::set<std::vector<std::string>> variants;
  for (const int chunk : {300, 1, 2, 5, 17, 64, 150}) {
    variants.insert(rig.Digests(MakeSequence(ids, 0), chunk));
  }
  EXPECT_GT(variants.size(), 1u);
}

#else

TEST(CpuOpsTest, DefaultModeNeedsOpenBlas) {
  EXPECT_THROW(MakeCpuOps(SmallModel("tiny", DType::kBf16).config, Default(), 1), Error);
}

#endif

}  // namespace
}  // namespace detcheck
