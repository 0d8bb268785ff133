// What deterministic mode costs on the CPU: both modes of one model in one process, their steps
// interleaved, so that the machine's drift meets both. Prints tokens per second and their ratio.
// With f32 both modes read the same float32 weights; with bf16 deterministic mode reads half as
// much.
//
//   determinism_cost [MODEL [THREADS [ROUNDS [f32|bf16]]]]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/embedded/model.h"
#include "engine/embedded/model_dir.h"
#include "engine/embedded/ops.h"

namespace detcheck {
namespace {

constexpr int kMaxRows = 1024;
constexpr int kSlotsPerSequence = 2048;
constexpr int kMaxSequences = 16;

/// One mode of the engine without its scheduler: a model and sequences of known length.
class Contender {
 public:
  Contender(EngineOptions options, bool deterministic) {
    options.deterministic = deterministic;
    LoadedModel loaded = LoadModel(options);
    vocab_size_ = loaded.config.vocab_size;
    ops_ = MakeCpuOps(loaded.config, options, kMaxRows);
    model_ = std::make_unique<Model>(loaded.config, loaded.weights.get(), ops_.get(), kMaxRows);
    ops_->AllocateKvCache(kMaxSequences * kSlotsPerSequence);
    for (int i = 0; i < kMaxSequences * kSlotsPerSequence; ++i) slots_.push_back(i);
  }

  /// Computes `num_tokens` more tokens of each of `num_sequences` sequences from `start_pos` on,
  /// and draws a token for each. Returns the seconds that it took.
  double Step(int num_sequences, int start_pos, int num_tokens) {
    StepBatch batch;
    for (int seq = 0; seq < num_sequences; ++seq) {
      const int32_t* slots = &slots_[seq * kSlotsPerSequence];
      batch.sequences.push_back({batch.num_rows(), num_tokens, start_pos, slots});
      for (int i = 0; i < num_tokens; ++i) {
        batch.ids.push_back((1000 + 37 * seq + 11 * (start_pos + i)) % vocab_size_);
        batch.positions.push_back(start_pos + i);
        batch.slots.push_back(slots[start_pos + i]);
      }
      batch.logit_rows.push_back(batch.num_rows() - 1);
    }
    const std::vector<RowSampling> rows(batch.logit_rows.size());
    const auto begin = std::chrono::steady_clock::now();
    model_->Forward(batch);
    ops_->Sample(rows);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  int vocab_size_ = 0;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Model> model_;
  std::vector<int32_t> slots_;
};

struct Workload {
  const char* name;
  int num_sequences;
  int context_len;  ///< Tokens that are computed before, untimed.
  int num_tokens;   ///< Of each sequence in a timed step.
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Measure(const Workload& work, int rounds, Contender* plain, Contender* deterministic) {
  for (Contender* contender : {plain, deterministic}) {
    for (int seq_tokens = 0; seq_tokens < work.context_len;) {
      const int step = std::min(work.context_len - seq_tokens, kMaxRows / work.num_sequences);
      contender->Step(work.num_sequences, seq_tokens, step);
      seq_tokens += step;
    }
    contender->Step(work.num_sequences, work.context_len, work.num_tokens);  // Warm-up.
  }
  std::vector<double> plain_s;
  std::vector<double> deterministic_s;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const bool swap = round % 2 == 1;
    Contender* first = swap ? deterministic : plain;
    Contender* second = swap ? plain : deterministic;
    const double a = first->Step(work.num_sequences, work.context_len, work.num_tokens);
    const double b = second->Step(work.num_sequences, work.context_len, work.num_tokens);
    plain_s.push_back(swap ? b : a);
    deterministic_s.push_back(swap ? a : b);
    ratios.push_back(plain_s.back() / deterministic_s.back());
  }
  const double tokens = work.num_sequences * work.num_tokens;
  std::printf(
      "%-22s default %8.1f tokens/s, deterministic %8.1f tokens/s, ratio %.3f (%.3f to %.3f)\n",
      work.name, tokens / Median(plain_s), tokens / Median(deterministic_s), Median(ratios),
      *std::min_element(ratios.begin(), ratios.end()),
      *std::max_element(ratios.begin(), ratios.end()));
  std::fflush(stdout);
}

int Run(int argc, char** argv) {
  EngineOptions options;
  options.model = argc > 1 ? argv[1] : "synthetic:qwen3-0.6b";
  options.num_threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 15;
  options.dtype = argc > 4 && std::string(argv[4]) == "bf16" ? DType::kBf16 : DType::kF32;
  Contender plain(options, false);
  Contender deterministic(options, true);
  for (const Workload& work :
       {Workload{"decode, batch 1", 1, 128, 1}, Workload{"decode, batch 16", 16, 128, 1},
        Workload{"prefill, 1024 tokens", 1, 0, 1024}}) {
    Measure(work, rounds, &plain, &deterministic);
  }
  return 0;
}

}  // namespace
}  // namespace detcheck

int main(int argc, char** argv) {
  try {
    return detcheck::Run(argc, argv);
  } catch (const detcheck::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
