#include "engine/embedded/embedded_support.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace detcheck {
namespace {

/// That deterministic mode holds with a feature, and which test fails where it does not.
struct Proof {
  std::string_view feature;
  std::string_view test;  ///< "Suite.Name", or a test of ctest.
  /// The capability that the feature needs; null: every engine has it.
  bool Capabilities::*needs = nullptr;
};

/// What one attention backend of one device shows.
struct BackendProofs {
  std::string_view device;
  std::string_view attention_backend;
  std::span<const Proof> proofs;
  std::string_view default_mode_test;  ///< Shows that default mode is not deterministic.
};

constexpr auto kCpuProofs = std::to_array<Proof>({
    {"deterministic_mode", "CpuOpsTest.DeterministicLogitsOfAnyLevelAndThreads"},
    {"continuous_batching", "CpuOpsTest.DeterministicLogitsAmongNeighbours",
     &Capabilities::batch_witness},
    {"chunked_prefill", "CpuOpsTest.DeterministicLogitsOfAnyChunking"},
    {"radix_cache", "EmbeddedBackendTest.AnswersAlikeColdAndWarmAndAfterARestart",
     &Capabilities::prefix_cache},
    {"non_greedy_sampling", "SamplerTest.SeedsRepeatAndDiffer", &Capabilities::seed},
    {"logprobs", "EmbeddedBackendTest.ScoresAsItDecodes", &Capabilities::prompt_logprobs},
    {"preemption", "schedule_property_tiny"},
});

/// Of both attention backends: the tests run with each.
constexpr auto kCudaProofs = std::to_array<Proof>({
    {"deterministic_mode", "CudaEngineTest.AnswersAreThoseOfARequestAlone"},
    {"continuous_batching", "CudaEngineTest.AnswersAreThoseOfARequestAlone",
     &Capabilities::batch_witness},
    {"chunked_prefill", "CudaEngineTest.AnswersDoNotDependOnChunks"},
    {"cuda_graph", "CudaEngineTest.GraphsAndCallsGiveTheSameBits"},
    {"radix_cache", "CudaEngineTest.AnswersAlikeColdAndWarm", &Capabilities::prefix_cache},
    {"non_greedy_sampling", "CudaEngineTest.SeedsRepeatAndDiffer", &Capabilities::seed},
    {"logprobs", "CudaEngineTest.ScoresAsItDecodes", &Capabilities::prompt_logprobs},
    {"preemption", "CudaEngineTest.AnswersDoNotDependOnPreemption"},
});

constexpr auto kBackends = std::to_array<BackendProofs>({
    {"cpu", "cpu", kCpuProofs, "CpuOpsTest.DefaultModeVariesWithTheBatch"},
    {"cuda", "flash", kCudaProofs, "CudaDefaultModeTest.VariesWithTheBatch"},
    {"cuda", "reference", kCudaProofs, "CudaDefaultModeTest.VariesWithTheBatch"},
});

/// Once, however many statements name it.
void AddTest(std::string_view test, SupportTable* table) {
  const auto is_it = [&](const SupportSource& source) { return source.test == test; };
  if (std::any_of(table->sources.begin(), table->sources.end(), is_it)) return;
  table->sources.push_back({.id = std::string(test),
                            .title = "test of detcheck",
                            .url = "",
                            .read = "",
                            .test = std::string(test)});
}

SupportRow RowOf(const BackendProofs& backend, SupportTable* table) {
  const Capabilities capabilities = EmbeddedCapabilities(EngineOptions{});
  SupportRow row;
  row.attention_backend = backend.attention_backend;
  for (const Proof& proof : backend.proofs) {
    if (proof.needs != nullptr && !(capabilities.*proof.needs)) continue;
    AddTest(proof.test, table);
    row.statements.push_back({.feature = std::string(proof.feature),
                              .answer = SupportAnswer::kDocumented,
                              .sources = {std::string(proof.test)},
                              .note = ""});
  }
  for (const char* feature : {"tensor_parallelism", "pipeline_parallelism", "data_parallelism",
                              "expert_parallelism", "speculative_decoding"}) {
    row.statements.push_back({.feature = feature,
                              .answer = SupportAnswer::kDocumentedUnsupported,
                              .sources = {},
                              .note = "the engine has none"});
  }
  return row;
}

SupportTable TableOf(std::string_view device) {
  SupportTable table;
  table.engine = "detcheck-" + std::string(device);
  table.mode = "--enable-deterministic-inference";
  SupportRange all;
  all.from = "0";
  all.other_backends.note = "the engine has no such attention backend";
  all.other_backends.answer = SupportAnswer::kDocumentedUnsupported;
  for (const BackendProofs& backend : kBackends) {
    if (backend.device != device) continue;
    all.rows.push_back(RowOf(backend, &table));
    all.default_mode = {.feature = "",
                        .answer = SupportAnswer::kDocumentedUnsupported,
                        .sources = {std::string(backend.default_mode_test)},
                        .note = "Kernels are chosen by shape."};
    AddTest(backend.default_mode_test, &table);
  }
  table.releases.push_back(std::move(all));
  return table;
}

}  // namespace

Capabilities EmbeddedCapabilities(const EngineOptions& options) {
  return {.ids_in = true,
          .ids_out = true,
          .logprobs = true,
          .top_ids = true,
          .prompt_logprobs = true,
          .seed = true,
          .ignore_eos = true,
          .stream = false,
          .abort = true,
          .engine_step_release = true,
          .cached_tokens = true,
          .cache_bypass = true,
          .flush = true,
          .restart = true,
          .batch_witness = true,
          .prefix_cache = options.radix_cache};
}

std::vector<SupportTable> EmbeddedSupportTables() {
  std::vector<SupportTable> tables;
  for (const BackendProofs& backend : kBackends) {
    const std::string engine = "detcheck-" + std::string(backend.device);
    if (std::any_of(tables.begin(), tables.end(),
                    [&](const SupportTable& table) { return table.engine == engine; })) {
      continue;
    }
    tables.push_back(TableOf(backend.device));
  }
  return tables;
}

}  // namespace detcheck
